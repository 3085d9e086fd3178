import {
  LETTER_STATES,
  type Letter,
  type LetterFilter,
  type LetterState,
  type LetterWithRecord,
} from '../../dead-letter/contract';
import { DEFAULT_RATE, type Redrive } from '../../dead-letter/redrive';
import { unknownLetter, type Replays, type ReplayTo } from '../../dead-letter/replay';
import type { DeadLetterRoom } from '../../dead-letter/room';
import { safeValue } from '../../dead-letter/safe-value';
import { InputError } from '../../errors/errors';
import { STAGES, type Stage } from '../../errors/stages';
import { decodeRecord } from '../../queue/record-format';
import { AdminError, wholeNumber, type AdminRequest, type AdminRoute, type Parameter } from '../admin-route';
import { array, count, flag, nullable, number, object, oneOf, text } from '../schemas';
import { ruleNamed } from '../rule-named';
import { withoutPayload } from './rules.routes';

interface DeadLetterDeps {
  readonly room: DeadLetterRoom;
  readonly replays: Replays;
  readonly redrive: Redrive;
}

const MAX_LETTERS = 1000;
const MAX_RATE = 10_000;
/** Clients don't wait for ever; the letter's state tells how a slow replay ended. */
const ANSWER_MS = 10_000;
const STAGE_NAMES = Object.keys(STAGES) as Stage[];

const LETTER = object(
  {
    id: text,
    place: text,
    state: oneOf(...LETTER_STATES),
    replay_count: count,
    changed_at: count,
    rule_id: text,
    stage: oneOf(...STAGE_NAMES),
    error: text,
    timestamp: count,
  },
  { last_replay: object({ at: count, error: text, error_code: text }, { node_id: text }) },
);
const PROGRESS = object(
  {
    state: oneOf('running', 'done', 'stopped'),
    total: count,
    resolved: count,
    failed: count,
    skipped: count,
    rate: number,
    started_at: count,
  },
  { error: text },
);
const REDRIVE_BODY = object(
  {},
  {
    rule: text,
    place: text,
    stage: oneOf(...STAGE_NAMES),
    to: oneOf('node', 'source'),
    rate: { type: 'number', exclusiveMinimum: 0, maximum: MAX_RATE, default: DEFAULT_RATE },
    dry_run: flag,
  },
);

const filterBy = (name: string, description: string, values?: readonly string[]): Parameter => ({
  name,
  description,
  schema: values ? oneOf(...values) : text,
});

/** Statuses of what a replay refuses to do. */
const REFUSALS = {
  ERR_SLUICE_LETTER_UNKNOWN: 404,
  ERR_SLUICE_LETTER_STATE: 409,
  ERR_SLUICE_LETTER_NOT_REPLAYABLE: 422,
  ERR_SLUICE_LETTER_NODE_GONE: 409,
  ERR_SLUICE_LETTER_REDRIVE_BUSY: 409,
} as const;

async function answering<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof InputError && Object.hasOwn(REFUSALS, error.code)) {
      throw new AdminError(REFUSALS[error.code as keyof typeof REFUSALS], error.code, error.message);
    }
    throw error;
  }
}

/** Undefined when it takes longer; it goes on all the same. */
function within<Result>(ms: number, work: Promise<Result>): Promise<Result | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), ms).unref();
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}

const badRequest = (what: string) => new AdminError(400, 'ERR_SLUICE_LETTER_REQUEST', what);

function choose<Option extends string>(
  name: string,
  given: unknown,
  options: readonly Option[],
): Option | undefined {
  if (given === undefined || given === null) return undefined;
  const found = options.find((option) => option === given);
  if (found !== undefined) return found;
  throw badRequest(`${name} must be one of ${options.join(', ')}`);
}

function bodyOf({ body }: AdminRequest): Readonly<Record<string, unknown>> {
  if (typeof body === 'object' && body !== null && !Array.isArray(body)) {
    return body as Readonly<Record<string, unknown>>;
  }
  throw badRequest('the body must be a JSON object, sent as application/json');
}

function idOf({ params }: AdminRequest): number {
  const { id = '' } = params;
  if (/^\d{1,15}$/.test(id)) return Number(id);
  throw new AdminError(404, 'ERR_SLUICE_LETTER_UNKNOWN', unknownLetter(id.slice(0, 40)).message);
}

const rateOf = (given: unknown): number => {
  if (given === undefined) return DEFAULT_RATE;
  if (typeof given === 'number' && given > 0 && given <= MAX_RATE) return given;
  throw badRequest(`rate must be a number above 0, ${MAX_RATE} at most`);
};

function shown({ id, place, state, replays, changedAt, lastReplay, envelope }: Letter, withPayload: boolean) {
  const all = {
    id: String(id),
    place,
    state,
    replay_count: replays,
    changed_at: changedAt,
    ...(lastReplay && { last_replay: lastReplay }),
    ...envelope,
  };
  return withPayload ? all : withoutPayload(all);
}

/** The message that a replay would send, in a form that JSON can say. */
function messageOf({ record }: LetterWithRecord): unknown {
  return record.byteLength === 0 ? null : safeValue(decodeRecord(record)).value;
}

/** Dead letters of all places: listed, shown, replayed, resolved, discarded and redriven. */
export function deadLetterRoutes({ room, replays, redrive }: DeadLetterDeps): readonly AdminRoute[] {
  const { letters } = room;

  /** Rules go by id or label; what no deployed rule has is taken as the id of a tab that is gone. */
  const ruleOf = (given: unknown): string | undefined => {
    if (given === undefined || given === null) return undefined;
    if (typeof given !== 'string') throw badRequest('rule must be the id or label of a tab');
    return ruleNamed(room.rules, given)?.id ?? given;
  };
  const filterOf = (given: Readonly<Record<string, unknown>>): LetterFilter => {
    const rule = ruleOf(given['rule']);
    const { place } = given;
    if (place !== undefined && place !== null && typeof place !== 'string')
      throw badRequest('place must be text');
    const stage = choose('stage', given['stage'], STAGE_NAMES);
    const state = choose('state', given['state'], LETTER_STATES);
    return {
      ...(rule !== undefined && { rule }),
      ...(typeof place === 'string' && { place }),
      ...(stage && { stage }),
      ...(state && { state }),
    };
  };
  const close = (to: Extract<LetterState, 'resolved' | 'discarded'>) => async (request: AdminRequest) => {
    const id = idOf(request);
    if (await room.close(id, to)) return { ok: true, id: String(id), state: to };
    const letter = await letters.use((store) => store.get(id));
    if (!letter) throw new AdminError(404, 'ERR_SLUICE_LETTER_UNKNOWN', unknownLetter(id).message);
    throw new AdminError(
      409,
      'ERR_SLUICE_LETTER_STATE',
      `dead letter ${id} is ${letter.state}: only an open one can be ${to}`,
    );
  };

  return [
    {
      method: 'get',
      path: '/dlq',
      permission: 'sluice.read',
      summary: 'Dead letters, newest first; payloads need `sluice.payload`',
      query: [
        filterBy('rule', 'id or label of a tab'),
        filterBy('place', '`pipeline`, `push:<queue>` or `inbox:<path>`'),
        filterBy('state', 'state of the letters', LETTER_STATES),
        filterBy('stage', 'stage at which they failed', STAGE_NAMES),
        {
          name: 'before',
          description: 'only letters with a lower id, for the next page',
          schema: { type: 'integer', minimum: 1 },
        },
        {
          name: 'limit',
          description: 'most letters of the answer',
          schema: { type: 'integer', minimum: 1, maximum: MAX_LETTERS, default: 100 },
        },
      ],
      answer: object({
        dead_letters: array(LETTER),
        places: array(object({ place: text, open: count, closed: count, bytes: count, lost_total: count })),
      }),
      errors: ['ERR_SLUICE_LETTER_REQUEST', 'ERR_SLUICE_API_QUERY', 'ERR_SLUICE_RULE_AMBIGUOUS'],
      async handle({ query, allows }) {
        const limit = wholeNumber(query, 'limit', { fallback: 100, min: 1, max: MAX_LETTERS });
        const beforeId = wholeNumber(query, 'before', { fallback: 0, min: 1, max: Number.MAX_SAFE_INTEGER });
        const filter = {
          ...filterOf(Object.fromEntries(query)),
          ...(beforeId > 0 && { beforeId }),
        };
        const found = await letters.use((store) => store.list(filter, limit));
        const withPayload = allows('sluice.payload');
        return {
          dead_letters: found.map((letter) => shown(letter, withPayload)),
          places: letters.places().map((place) => {
            const counts = letters.counts(place);
            return {
              place,
              open: counts?.open ?? 0,
              closed: counts?.closed ?? 0,
              bytes: counts?.bytes ?? 0,
              lost_total: counts?.trimmedOpenTotal ?? 0,
            };
          }),
        };
      },
    },
    {
      method: 'get',
      path: '/dlq/redrive',
      permission: 'sluice.read',
      summary: 'How far the redrive that is under way has come, or how the last one ended',
      answer: object({ redrive: nullable(PROGRESS) }),
      handle: () => ({ redrive: redrive.progress ?? null }),
    },
    {
      method: 'post',
      path: '/dlq/redrive',
      permission: 'sluice.write',
      summary: 'Sends the open dead letters of a filter again, oldest first; `dry_run` only counts them',
      body: REDRIVE_BODY,
      answer: object({ ok: flag, dry_run: flag }, { total: count, redrive: PROGRESS }),
      errors: ['ERR_SLUICE_LETTER_REQUEST', 'ERR_SLUICE_LETTER_REDRIVE_BUSY', 'ERR_SLUICE_RULE_AMBIGUOUS'],
      async handle(request) {
        const body = bodyOf(request);
        const filter = filterOf({ ...body, state: undefined });
        const rate = rateOf(body['rate']);
        const to = choose<ReplayTo>('to', body['to'], ['node', 'source']);
        if (body['dry_run'] === true) return { ok: true, dry_run: true, total: await redrive.count(filter) };
        return { ok: true, dry_run: false, redrive: await answering(redrive.start({ filter, rate, to })) };
      },
    },
    {
      method: 'get',
      path: '/dlq/{id}',
      permission: 'sluice.read',
      summary: 'One dead letter; with `sluice.payload` its message too',
      answer: { ...LETTER },
      errors: ['ERR_SLUICE_LETTER_UNKNOWN'],
      async handle(request) {
        const id = idOf(request);
        const letter = await letters.use((store) => store.get(id));
        if (!letter) throw new AdminError(404, 'ERR_SLUICE_LETTER_UNKNOWN', unknownLetter(id).message);
        if (!request.allows('sluice.payload')) return shown(letter, false);
        return { ...shown(letter, true), message: messageOf(letter) };
      },
    },
    {
      method: 'post',
      path: '/dlq/{id}/replay',
      permission: 'sluice.write',
      summary: 'Sends a dead letter again: to the node that failed, or from its source',
      body: object({}, { to: oneOf('node', 'source'), payload: {} }),
      answer: object(
        { ok: flag, id: text, state: oneOf('resolved', 'open', 'replaying') },
        { error: object({ code: text, message: text }) },
      ),
      errors: [
        'ERR_SLUICE_LETTER_REQUEST',
        'ERR_SLUICE_LETTER_UNKNOWN',
        'ERR_SLUICE_LETTER_STATE',
        'ERR_SLUICE_LETTER_NOT_REPLAYABLE',
        'ERR_SLUICE_LETTER_NODE_GONE',
      ],
      async handle(request) {
        const body = bodyOf(request);
        const id = idOf(request);
        const to = choose<ReplayTo>('to', body['to'], ['node', 'source']);
        const edited = 'payload' in body ? { payload: body['payload'] } : undefined;
        const result = await within(ANSWER_MS, answering(replays.replay(id, { to, edited })));
        if (result?.state !== 'open') {
          return { ok: true, id: String(id), state: result ? 'resolved' : 'replaying' };
        }
        return {
          ok: false,
          id: String(id),
          state: 'open',
          error: { code: result.code, message: result.reason },
        };
      },
    },
    {
      method: 'post',
      path: '/dlq/{id}/resolve',
      permission: 'sluice.write',
      summary: 'Marks a dead letter as dealt with',
      answer: object({ ok: flag, id: text, state: oneOf('resolved') }),
      errors: ['ERR_SLUICE_LETTER_UNKNOWN', 'ERR_SLUICE_LETTER_STATE'],
      handle: close('resolved'),
    },
    {
      method: 'post',
      path: '/dlq/{id}/discard',
      permission: 'sluice.write',
      summary: 'Marks a dead letter as not worth sending',
      answer: object({ ok: flag, id: text, state: oneOf('discarded') }),
      errors: ['ERR_SLUICE_LETTER_UNKNOWN', 'ERR_SLUICE_LETTER_STATE'],
      handle: close('discarded'),
    },
  ];
}
