export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/;
const SAMPLE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$/;
const LABEL = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)/y;
const VALUE = /^(?:[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?|[+-]Inf|NaN)$/i;
const SUFFIXES = /_(?:bucket|sum|count)$/;

function labelsOf(text: string, line: string): Record<string, string> {
  const labels: Record<string, string> = {};
  LABEL.lastIndex = 0;
  while (LABEL.lastIndex < text.length) {
    const match = LABEL.exec(text);
    if (!match) throw new Error(`malformed labels: ${line}`);
    const [, name = '', value = ''] = match;
    if (name in labels) throw new Error(`a label twice: ${line}`);
    labels[name] = value.replace(/\\(["\\n])/g, (_, escaped: string) => (escaped === 'n' ? '\n' : escaped));
  }
  return labels;
}

/**
 * Reads Prometheus' text format as strictly as its own checker: HELP and TYPE once and before the samples of a family,
 * families in one piece, no series twice, every name, label and value well-formed, buckets that grow. Throws otherwise.
 */
export function readMetrics(text: string): readonly Sample[] {
  if (!text.endsWith('\n')) throw new Error('the last line must end');
  const samples: Sample[] = [];
  const types = new Map<string, string>();
  const helped = new Set<string>();
  const finished = new Set<string>();
  const series = new Set<string>();
  let family = '';
  for (const line of text.split('\n')) {
    if (line === '') continue;
    const [, keyword, about = '', rest = ''] = /^# (HELP|TYPE) (\S+) (.*)$/.exec(line) ?? [];
    if (keyword !== undefined) {
      if (!NAME.test(about)) throw new Error(`malformed name: ${line}`);
      if (about !== family) {
        if (finished.has(about)) throw new Error(`a family in two pieces: ${line}`);
        finished.add(family);
        family = about;
      }
      const known = keyword === 'HELP' ? helped.has(about) : types.has(about);
      if (known) throw new Error(`twice: ${line}`);
      if (keyword === 'HELP') helped.add(about);
      else types.set(about, rest);
      continue;
    }
    const [, name = '', labelText = '', value = ''] = SAMPLE.exec(line) ?? [];
    if (name === '' || !VALUE.test(value)) throw new Error(`malformed: ${line}`);
    const owner = types.get(family) === 'histogram' ? name.replace(SUFFIXES, '') : name;
    if (owner !== family || !helped.has(family)) throw new Error(`outside of its family: ${line}`);
    const labels = labelsOf(labelText, line);
    const id = name + JSON.stringify(Object.entries(labels).sort());
    if (series.has(id)) throw new Error(`a series twice: ${line}`);
    series.add(id);
    if (types.get(family) === 'counter' && !name.endsWith('_total'))
      throw new Error(`a counter's name: ${line}`);
    samples.push({ name, labels, value: Number(value.replace('Inf', 'Infinity')) });
  }
  return samples;
}

/** The value of one series; undefined where there is none. */
export function valueOf(
  samples: readonly Sample[],
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number | undefined {
  return samples.find(
    (sample) =>
      sample.name === name &&
      Object.entries(labels).every(([label, value]) => sample.labels[label] === value),
  )?.value;
}
