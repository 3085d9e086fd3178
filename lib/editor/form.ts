import type { Fields } from '../config/fields';
import { isShown } from './conditions';
import { lenientConfig } from './problems';
import { FORM_STYLES } from './form-styles';

type Input = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement;

/** How Node-RED begins the ids of the inputs of a node's dialog, and of a configuration node's. */
export type InputPrefix = 'node-input' | 'node-config-input';

/**
 * The open dialog of a node: its inputs' values as they stand, parts that are shown under a condition, and the reason
 * beside each input that won't do (Node-RED itself shows it on hover only).
 */
export class Form<Config extends object> {
  readonly root: HTMLElement;
  private readonly listeners: (() => void)[] = [];

  /** `saved` stands in for properties that have no input. Throws when the dialog isn't in the page. */
  constructor(
    private readonly fields: Fields<Config>,
    private readonly saved: Readonly<Record<string, unknown>>,
    private readonly reasonsFor: (
      values: Readonly<Record<string, unknown>>,
      credential: (name: string) => string,
    ) => ReadonlyMap<string, string>,
    private readonly prefix: InputPrefix,
  ) {
    const root = this.input('name')?.closest<HTMLElement>('.sluice-form');
    if (!root) throw new Error('the form has no .sluice-form around its inputs');
    this.root = root;
    addStyles();
    this.fillIn();
    const update = () => this.update();
    root.addEventListener('input', update);
    root.addEventListener('change', update);
  }

  /** Calls `listener` now and after every change. */
  onChange(listener: () => void): void {
    this.listeners.push(listener);
    listener();
  }

  /** First look at the values, once the node has added its listeners; opens the parts in which something is wrong. */
  start(): void {
    this.update();
    for (const part of this.root.querySelectorAll('details')) {
      if (part.querySelector('[aria-invalid=true]')) part.open = true;
    }
  }

  input(name: string): Input | undefined {
    const element = document.getElementById(`${this.prefix}-${name}`);
    const isInput =
      element instanceof HTMLInputElement ||
      element instanceof HTMLSelectElement ||
      element instanceof HTMLTextAreaElement;
    return isInput ? element : undefined;
  }

  /** The values as saved now: text of inputs, true or false of checkboxes. */
  values(): Record<string, unknown> {
    const values: Record<string, unknown> = {};
    for (const name of Object.keys(this.fields)) {
      const input = this.input(name);
      if (!input) values[name] = this.saved[name];
      else if (input instanceof HTMLInputElement && input.type === 'checkbox') values[name] = input.checked;
      else values[name] = input.value;
    }
    return values;
  }

  /** The values in their own types, with defaults for what won't do. */
  config(): Config {
    return lenientConfig(this.fields, this.values());
  }

  /** Sets an input as if the user had, so that Node-RED checks it too. */
  set(name: keyof Config & string, value: string | boolean): void {
    const input = this.input(name);
    if (!input) return;
    if (input instanceof HTMLInputElement && typeof value === 'boolean') input.checked = value;
    // A choice of config nodes has no option for none while there are none: it would show nothing at all.
    else if (!(input instanceof HTMLSelectElement) || hasOption(input, String(value)))
      input.value = String(value);
    input.dispatchEvent(new Event('change', { bubbles: true }));
  }

  /** Shows those parts marked with `attribute` whose value is among `keys`. */
  showOnly(attribute: string, keys: readonly string[]): void {
    for (const part of this.root.querySelectorAll<HTMLElement>(`[${attribute}]`)) {
      part.hidden = !keys.includes(part.getAttribute(attribute) ?? '');
    }
  }

  /** Puts text into the elements marked `data-text="name"`. */
  setText(name: string, text: string): void {
    for (const element of this.root.querySelectorAll(`[data-text="${name}"]`)) element.textContent = text;
  }

  /** A flow saved before a property existed lacks it; an empty input would then be saved as if it were meant. */
  private fillIn(): void {
    for (const name of Object.keys(this.fields) as (keyof Config & string)[]) {
      if (this.saved[name] !== undefined) continue;
      const value: unknown = this.fields[name].default;
      this.set(name, typeof value === 'boolean' ? value : String(value));
    }
  }

  private update(): void {
    const values = this.values();
    const credential = (name: string) => this.input(name)?.value ?? '';
    for (const [name, reason] of this.reasonsFor(values, credential)) this.showReason(name, reason);
    for (const part of this.root.querySelectorAll<HTMLElement>('[data-when]')) {
      // What is wrong is never hidden: the node couldn't be put right.
      const isWrong = part.querySelector('[aria-invalid=true]') !== null;
      part.hidden = !isWrong && !isShown(part.dataset['when'] ?? '', values);
    }
    for (const input of this.root.querySelectorAll<Input>('input, select, textarea')) describe(input);
    for (const listener of this.listeners) listener();
  }

  private showReason(name: string, reason: string): void {
    const input = this.input(name);
    if (!input) return;
    const id = `${input.id}-reason`;
    let line = document.getElementById(id);
    if (!line) {
      if (reason === '') return;
      line = document.createElement('div');
      line.id = id;
      line.className = 'sluice-reason';
      line.setAttribute('role', 'status');
      (input.closest('.sluice-field') ?? input).after(line);
    }
    line.textContent = reason;
    line.hidden = reason === '';
    input.setAttribute('aria-invalid', String(reason !== ''));
    input.classList.toggle('input-error', reason !== '');
  }
}

function hasOption(select: HTMLSelectElement, value: string): boolean {
  return [...select.options].some((option) => option.value === value);
}

/** Lets screen readers tell the reason and the hints that are shown below an input. */
function describe(input: Input): void {
  const row = input.closest('.sluice-row');
  const lines = [...(row?.querySelectorAll<HTMLElement>('.sluice-reason, .sluice-hint') ?? [])];
  lines.forEach((line, index) => (line.id ||= `${input.id}-hint-${index}`));
  const ids = lines.filter((line) => !line.hidden).map((line) => line.id);
  if (ids.length > 0) input.setAttribute('aria-describedby', ids.join(' '));
  else input.removeAttribute('aria-describedby');
}

function addStyles(): void {
  const id = 'sluice-form-styles';
  if (document.getElementById(id)) return;
  const element = document.createElement('style');
  element.id = id;
  element.textContent = FORM_STYLES;
  document.head.append(element);
}
