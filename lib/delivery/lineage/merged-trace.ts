import type { Attempt, Owners } from './attempt';
import type { Trace } from './contract';

/** The trace of a message that several records were merged into. It has no row of its own to replace. */
export class MergedTrace implements Trace {
  readonly lease = undefined;
  private readonly first: Attempt;

  constructor(private readonly owners: Owners) {
    this.first = owners[0];
  }

  get stamp() {
    return this.first.stamp;
  }

  takeHold(sinkId: string): void {
    for (const owner of this.owners) owner.takeHold(sinkId);
  }

  deliveryId(sinkId: string, bytes: Uint8Array): string {
    return this.first.deliveryId(sinkId, bytes);
  }

  pauseTimeout(): () => void {
    const resumes = this.owners.map((owner) => owner.pauseTimeout());
    return () => {
      for (const resume of resumes) resume();
    };
  }
}
