/** A list saved as one text, its entries separated by commas: as an editor's input holds it. Blank entries don't count. */
export function listOf(text: string): readonly string[] {
  return text
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');
}
