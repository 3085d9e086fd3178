/**
 * A node's saved properties, described once: the runtime reads them with `readConfig`, the editor makes `defaults` and
 * validators of them, tests enumerate them. Pure, and bundled into the editor: nothing of Node or Node-RED here.
 */

/** Why a value won't do: a key under `sluice.problem` in the locale files, with the numbers to show. */
export interface Problem {
  readonly key: 'required' | 'number' | 'integer' | 'min' | 'max' | 'choice' | 'pattern';
  readonly values?: Readonly<Record<string, string | number>>;
}

/** A rule over several properties that a node breaks. */
export interface Conflict<Config> {
  /** The property whose input the form marks. */
  readonly property: keyof Config & string;
  /** Key under `<node type>.problem` in the locale files. */
  readonly key: string;
  /** The same in English, following the property's name: for errors and logs of the runtime. */
  readonly text: string;
}

export interface Field<T> {
  /** Which input the form gives it. */
  readonly kind: 'text' | 'number' | 'choice' | 'flag';
  readonly default: T;
  /** Of a choice. */
  readonly options?: readonly T[];
  /** Whether a number may have decimals. */
  readonly fraction?: boolean;
  /** The value in its own type (editors save numbers as text), or the problem with it. */
  parse(value: unknown): { readonly value: T } | { readonly problem: Problem };
}

export type Fields<Config> = { readonly [Name in keyof Config]: Field<Config[Name]> };

/** Saved by Node-RED outside the flow file: a `password` never returns to the browser. */
export type Credentials<Name extends string> = Readonly<Record<Name, { readonly type: 'password' | 'text' }>>;

const problem = (key: Problem['key'], values?: Problem['values']) => ({
  problem: values ? { key, values } : { key },
});
const isBlank = (value: unknown) => value === undefined || value === null || value === '';

/** White space around it is no part of it, unless `verbatim`. */
export function text(
  fallback = '',
  rules: { readonly required?: boolean; readonly pattern?: RegExp; readonly verbatim?: boolean } = {},
): Field<string> {
  return {
    kind: 'text',
    default: fallback,
    parse(value) {
      const given = isBlank(value) ? fallback : String(value);
      const parsed = rules.verbatim ? given : given.trim();
      if (rules.required && parsed === '') return problem('required');
      if (rules.pattern && parsed !== '' && !rules.pattern.test(parsed)) return problem('pattern');
      return { value: parsed };
    },
  };
}

/** A number; whole unless `fraction`. Units belong into the field's name. */
export function number(
  fallback: number,
  rules: { readonly min?: number; readonly max?: number; readonly fraction?: boolean } = {},
): Field<number> {
  const { min = 0, max = Number.MAX_SAFE_INTEGER, fraction = false } = rules;
  return {
    kind: 'number',
    default: fallback,
    fraction,
    parse(value) {
      const parsed = isBlank(value) ? fallback : Number(value);
      if (!Number.isFinite(parsed)) return problem('number');
      if (!fraction && !Number.isInteger(parsed)) return problem('integer');
      if (parsed < min) return problem('min', { min });
      if (parsed > max) return problem('max', { max });
      return { value: parsed };
    },
  };
}

export function choice<const Option extends string>(
  fallback: Option,
  options: readonly Option[],
): Field<Option> {
  return {
    kind: 'choice',
    default: fallback,
    options,
    parse(value) {
      if (isBlank(value)) return { value: fallback };
      const found = options.find((option) => option === value);
      return found === undefined ? problem('choice', { options: options.join(', ') }) : { value: found };
    },
  };
}

export function flag(fallback: boolean): Field<boolean> {
  return {
    kind: 'flag',
    default: fallback,
    parse: (value) => ({ value: isBlank(value) ? fallback : value === true || value === 'true' }),
  };
}
