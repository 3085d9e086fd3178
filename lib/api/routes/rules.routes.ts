import type { DeadLetterRoom } from '../../dead-letter/room';
import type { RecentError, Rule } from '../../dead-letter/rules';
import { STAGES, type Stage } from '../../errors/stages';
import { AdminError, type AdminRequest, type AdminRoute } from '../admin-route';
import { ruleNamed } from '../rule-named';
import { array, count, flag, object, oneOf, text } from '../schemas';

interface RuleDeps {
  readonly room: DeadLetterRoom;
}

const STAGE_LABELS = Object.entries(STAGES) as [Stage, (typeof STAGES)[Stage]][];
const STAGE_COUNTS = Object.fromEntries(STAGE_LABELS.map(([, { label }]) => [label, count]));
const STATUS = oneOf('running', 'stopped');

const countsOf = ({ byStage }: Rule) =>
  Object.fromEntries(STAGE_LABELS.map(([stage, { label }]) => [label, byStage[stage]]));

/** What the record held is shown only to who may see payloads. */
export function withoutPayload<Shown extends Partial<RecentError>>(shown: Shown): Partial<Shown> {
  const {
    raw_payload: _raw,
    raw_encoding: _encoding,
    raw_truncated: _cut,
    tuple: _tuple,
    tuple_truncated: _short,
    ...rest
  } = shown;
  return rest as Partial<Shown>;
}

/** Rules, their recent errors, and what stopped them. All from memory: 100,000 dead letters make it no slower. */
export function ruleRoutes({ room }: RuleDeps): readonly AdminRoute[] {
  const find = ({ params }: AdminRequest): Rule => {
    const rule = ruleNamed(room.rules, params['id'] ?? '');
    if (rule) return rule;
    throw new AdminError(404, 'ERR_SLUICE_RULE_UNKNOWN', 'no deployed tab has this id or label');
  };
  const statusOf = ({ id }: Rule) => {
    const halt = room.haltOf(id);
    if (!halt) return { status: 'running' };
    const { at, cause, letterId } = halt;
    return { status: 'stopped', stopped_at: at, cause: { ...cause, dead_letter: String(letterId) } };
  };

  return [
    {
      method: 'get',
      path: '/rules',
      permission: 'sluice.read',
      summary: 'All rules (tabs): what governs each, what it has seen, and why it is stopped',
      answer: object({
        rules: array(
          object({
            rule_id: text,
            label: text,
            on_error: oneOf('drop', 'dlq', 'halt'),
            status: STATUS,
            total_errors: count,
            sink_failures: count,
            ...STAGE_COUNTS,
          }),
        ),
      }),
      handle: () => ({
        rules: room.rules.all().map((rule) => ({
          rule_id: rule.id,
          label: rule.label,
          on_error: rule.policy.onError,
          ...statusOf(rule),
          total_errors: rule.total,
          ...countsOf(rule),
          sink_failures: rule.sinkFailures,
        })),
      }),
    },
    {
      method: 'get',
      path: '/rules/{id}/errors',
      permission: 'sluice.read',
      isDocumentPath: true,
      summary: 'Errors of a rule since the start, by its id or label; payloads need `sluice.payload`',
      answer: object({
        rule_id: text,
        total_errors: count,
        ...STAGE_COUNTS,
        sink_failures: count,
        recent_errors: array(object({ rule_id: text, stage: text, error: text, timestamp: count })),
      }),
      errors: ['ERR_SLUICE_RULE_UNKNOWN', 'ERR_SLUICE_RULE_AMBIGUOUS'],
      handle(request) {
        const rule = find(request);
        const recent = rule.recent.newest().toReversed();
        return {
          rule_id: rule.id,
          total_errors: rule.total,
          ...countsOf(rule),
          sink_failures: rule.sinkFailures,
          recent_errors: request.allows('sluice.payload') ? recent : recent.map(withoutPayload),
        };
      },
    },
    {
      method: 'delete',
      path: '/rules/{id}/errors',
      permission: 'sluice.write',
      isDocumentPath: true,
      summary: 'Clears the recent errors of a rule; its counters and its dead letters stay',
      answer: object({ ok: flag, rule_id: text, cleared: count }),
      errors: ['ERR_SLUICE_RULE_UNKNOWN', 'ERR_SLUICE_RULE_AMBIGUOUS'],
      handle(request) {
        const rule = find(request);
        const cleared = rule.recent.newest().length;
        rule.recent.clear();
        return { ok: true, rule_id: rule.id, cleared };
      },
    },
    {
      method: 'post',
      path: '/rules/{id}/start',
      permission: 'sluice.write',
      isDocumentPath: true,
      summary: 'Starts a rule that an error has stopped: its sources take records again',
      answer: object({ ok: flag, rule_id: text, status: STATUS, was_stopped: flag }),
      errors: ['ERR_SLUICE_RULE_UNKNOWN', 'ERR_SLUICE_RULE_AMBIGUOUS'],
      async handle(request) {
        const rule = find(request);
        const wasStopped = await room.start(rule);
        return { ok: true, rule_id: rule.id, status: 'running', was_stopped: wasStopped };
      },
    },
  ];
}
