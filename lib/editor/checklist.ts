import { listOf } from '../config/list';
import type { Form } from './form';

export interface Choice {
  readonly value: string;
  readonly label: string;
}

/**
 * Puts a checkbox for each choice in place of an input that holds a list of values, separated by commas. A value that is
 * no choice (its node may have been deleted) keeps a box of its own until it is unchecked.
 */
export function checklist<Config extends object>(
  form: Form<Config>,
  name: keyof Config & string,
  choices: readonly Choice[],
): void {
  const input = form.input(name);
  if (!input) return;
  const chosen = listOf(input.value);
  const others = chosen.filter((value) => !choices.some((choice) => choice.value === value));
  const all = [...choices, ...others.map((value) => ({ value, label: value }))];

  const boxes = all.map(({ value, label }, index) => {
    const box = document.createElement('input');
    box.type = 'checkbox';
    box.id = `${input.id}-${index}`;
    box.value = value;
    box.checked = chosen.includes(value);
    const caption = document.createElement('label');
    caption.htmlFor = box.id;
    caption.append(box, ' ', label);
    return { box, caption };
  });
  const group = document.createElement('div');
  group.className = 'sluice-checklist';
  group.setAttribute('role', 'group');
  const label = form.root.querySelector<HTMLLabelElement>(`label[for="${input.id}"]`);
  if (label) {
    label.id ||= `${input.id}-label`;
    group.setAttribute('aria-labelledby', label.id);
  }
  group.append(...boxes.map(({ caption }) => caption));
  group.addEventListener('change', () => {
    const values = boxes.filter(({ box }) => box.checked).map(({ box }) => box.value);
    form.set(name, values.join(','));
  });
  input.hidden = true;
  input.after(group);
}

/** The nodes of this package in all flows, but for the types left out, by their labels. */
export function nodesOfOurs(leftOut: ReadonlySet<string>): Choice[] {
  const found: Choice[] = [];
  RED.nodes.eachNode((node) => {
    if (leftOut.has(node.type) || RED.nodes.getType(node.type)?.category !== 'sluice') return;
    found.push({ value: node.id, label: RED.utils.getNodeLabel(node, node.id) });
  });
  return found;
}
