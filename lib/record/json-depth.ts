/**
 * Whether a JSON text nests deeper than `limit`. JSON.parse copes with any depth, but whatever walks the value later
 * (cloning a message, stringify) recurses. Text too short to nest that deep isn't looked at.
 */
export function jsonDepthExceeds(text: string, limit: number): boolean {
  if (text.length <= limit * 2) return false;
  let depth = 0;
  let inString = false;
  for (let at = 0; at < text.length; at += 1) {
    const character = text.charCodeAt(at);
    if (inString) {
      if (character === 0x5c) at += 1;
      else if (character === 0x22) inString = false;
    } else if (character === 0x22) inString = true;
    else if (character === 0x7b || character === 0x5b) {
      depth += 1;
      if (depth > limit) return true;
    } else if (character === 0x7d || character === 0x5d) depth -= 1;
  }
  return false;
}
