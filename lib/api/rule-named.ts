import type { Rule, Rules } from '../dead-letter/rules';
import { AdminError } from './admin-route';

/** The rule of this id or label; undefined for none. Throws AdminError 409 for a label that several tabs have. */
export function ruleNamed(rules: Rules, idOrLabel: string): Rule | undefined {
  const [rule, ...others] = rules.matching(idOrLabel);
  if (!rule || others.length === 0) return rule;
  const ids = [rule, ...others].map(({ id }) => id).join(', ');
  throw new AdminError(
    409,
    'ERR_SLUICE_RULE_AMBIGUOUS',
    `${others.length + 1} tabs have this label: take one of their ids, ${ids}`,
  );
}
