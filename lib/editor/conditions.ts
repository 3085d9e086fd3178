/**
 * When a part of a form is shown, written in the html as `data-when="scheme=generic"`. Commas separate values of
 * which one must hold, blanks separate conditions that must all hold: `data-when="respond=on_done scheme=github,slack"`.
 */
export function isShown(condition: string, values: Readonly<Record<string, unknown>>): boolean {
  return condition
    .split(/\s+/)
    .filter((part) => part !== '')
    .every((part) => {
      const at = part.indexOf('=');
      const options = part.slice(at + 1).split(',');
      return options.includes(String(values[part.slice(0, at)]));
    });
}
