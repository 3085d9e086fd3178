import { describe, expect, it } from 'vitest';
import { progressLine } from '#lib/cli/progress-line';

function terminal({ isTTY = true, columns = 80 } = {}) {
  const written: string[] = [];
  const write = (text: string) => written.push(text) > 0;
  return { out: { isTTY, columns, write }, written };
}
const CLEAR = '\r\u001b[2K';

describe('the progress of a command', () => {
  it('is a bar that is redrawn in place, ten times a second at most, and taken away at the end', () => {
    const { out, written } = terminal();
    let time = 0;
    const line = progressLine(false, out, () => time);
    line.show(0, 200, 'begun');
    line.show(1, 200, 'too soon');
    time = 150;
    line.show(100, 200, 'half');
    line.show(200, 200, 'all, however soon');
    line.end();
    expect(written).toEqual([
      `${CLEAR}[${'-'.repeat(24)}]   0 % begun`,
      `${CLEAR}[${'#'.repeat(12)}${'-'.repeat(12)}]  50 % half`,
      `${CLEAR}[${'#'.repeat(24)}] 100 % all, however soon`,
      CLEAR,
    ]);
  });

  it('never wraps, and shows nothing odd for a total of 0 or one that is passed', () => {
    const { out, written } = terminal({ columns: 40 });
    const line = progressLine(false, out, () => 0);
    line.show(0, 0, 'x'.repeat(100));
    line.show(7, 5, '');
    expect(written.map((text) => text.length - CLEAR.length)).toEqual([39, 33]);
    expect(written[1]).toContain('100 %');
  });

  it('takes a terminal that knows no width for one of 80 columns', () => {
    const { out, written } = terminal({ columns: 0 });
    progressLine(false, out).show(1, 2, 'x'.repeat(100));
    expect(written.map((text) => text.length - CLEAR.length)).toEqual([79]);
  });

  it.each([
    ['with --json', true, true],
    ['where the output is no terminal', false, false],
  ])('writes nothing %s', (_, quiet, isTTY) => {
    const { out, written } = terminal({ isTTY });
    const line = progressLine(quiet, out);
    line.show(1, 2, 'half');
    line.end();
    expect(written).toEqual([]);
  });
});
