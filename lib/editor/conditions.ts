/**
 * When a part of a form is shown, written in the html as `data-when="scheme=generic"`. Commas separate values of
 * which one must hold, blanks separate conditions that must all hold, `|` alternatives, and `!=` is the opposite of `=`:
 * `data-when="respond=on_done scheme=github,slack | timestampHeader!="`.
 */
export function isShown(condition: string, values: Readonly<Record<string, unknown>>): boolean {
  return condition.split('|').some((alternative) =>
    alternative
      .split(/\s+/)
      .filter((part) => part !== '')
      .every((part) => {
        const [, name = '', operator, options = ''] = /^(\w+)(!?=)(.*)$/.exec(part) ?? [];
        return options.split(',').includes(String(values[name])) === (operator === '=');
      }),
  );
}
