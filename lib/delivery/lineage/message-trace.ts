import { failureClassOf, type FailureClass } from '../../errors/errors';
import type { Stamp } from '../stamp';
import type { Attempt, Owners } from './attempt';
import type { Incident } from './conclusion';
import type { Trace } from './contract';

/** The trace of a message that several records were merged into, or that came by a catch node. */
export class MessageTrace implements Trace {
  private readonly first: Attempt;

  constructor(
    private readonly owners: Owners,
    private readonly incident: Incident | undefined,
  ) {
    this.first = owners[0];
  }

  get stamp(): Stamp {
    return this.first.stamp;
  }

  /** Merged records come from no one row. */
  get lease(): Trace['lease'] {
    return this.owners.length === 1 ? this.first.lease : undefined;
  }

  /** Merged with others next time, a record is part of another message. */
  get repeat(): Trace['repeat'] {
    return this.owners.length === 1 ? this.first.repeat : undefined;
  }

  get source(): Trace['source'] {
    return this.first.source;
  }

  get origin(): string {
    return this.first.origin;
  }

  get accepted(): boolean {
    return this.owners.some(({ accepted }) => accepted);
  }

  get replayOf(): number | undefined {
    return this.owners.length === 1 ? this.first.replayOf : undefined;
  }

  get deadLetter(): boolean {
    return this.owners.some(({ deadLetter }) => deadLetter);
  }

  get caughtError(): unknown {
    return this.incident?.error;
  }

  get caughtKept(): boolean {
    return this.incident?.kept ?? false;
  }

  get caught(): FailureClass | undefined {
    return this.incident && failureClassOf(this.incident.error);
  }

  custody(): void {
    if (this.incident) this.incident.inCustody = true;
  }

  takeHold(sinkId: string): void {
    for (const owner of this.owners) owner.takeHold(sinkId);
  }

  deliveryId(sinkId: string, bytes: Uint8Array): string {
    return this.first.deliveryId(sinkId, bytes, this.owners.slice(1));
  }

  pauseTimeout(): () => void {
    const resumes = this.owners.map((owner) => owner.pauseTimeout());
    return () => {
      for (const resume of resumes) resume();
    };
  }
}
