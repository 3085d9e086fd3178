import { describe, expect, it } from 'vitest';
import { ConfigError } from '#lib/errors/errors';
import { RecordError } from '#lib/record/record-error';
import { compileTemplate, type TemplateOptions } from '#lib/record/template';

/** What the template makes of the record, or the error's text. */
function write(template: string, record: unknown, options: Partial<TemplateOptions> = {}, message?: object) {
  try {
    return compileTemplate(template, { output: 'string', strict: true, ...options })(record, message).value;
  } catch (error) {
    if (error instanceof RecordError) return `${error.code}: ${error.message}`;
    throw error;
  }
}
const json = (template: string, record: unknown) => write(template, record, { output: 'json' });

describe('R6 a template', () => {
  it.each([
    ['{{id}}: {{temp}} °C', { id: 101, temp: 21.5 }, '101: 21.5 °C'],
    ['{{pos.lat}}', { pos: { lat: 0 } }, '0'],
    ['{{a}}{{{a}}}{{&a}}', { a: '<b>&"' }, '<b>&"<b>&"<b>&"'],
    ['{{#tags}}[{{.}}]{{/tags}}', { tags: ['a', 'b'] }, '[a][b]'],
    ['{{#rows}}{{n}}{{unit}} {{/rows}}', { rows: [{ n: 1 }, { n: 2 }], unit: 'C' }, '1C 2C '],
    ['{{^rows}}none{{/rows}}{{^gone}}!{{/gone}}', { rows: [] }, 'none!'],
    ['{{#gone}}{{gone}}{{/gone}}', {}, ''],
    ['{{! a comment }}{{=<% %>=}}<% id %>', { id: 1 }, '1'],
    ['{{yes}} {{no}} {{nothing}}.', { yes: true, no: false, nothing: null }, 'true false .'],
    ['{{all}}', { all: { a: [1] } }, '{"a":[1]}'],
    ['{{.}}', 'text', 'text'],
    ['no variable', null, 'no variable'],
  ])('%s writes %j', (template, record, text) => {
    expect(write(template, record)).toBe(text);
  });

  it('reads the record before the message', () => {
    const message = { topic: 'plant', payload: { temp: 1 } };
    expect(write('{{topic}} {{temp}} {{payload.temp}}', { temp: 1 }, {}, message)).toBe('plant 1 1');
    expect(write('{{topic}}', { topic: 'own' }, {}, message)).toBe('own');
  });

  it.each([
    'gone',
    'pos.gone',
    'pos.lat.gone',
    'toString',
    'constructor.name',
    '__proto__.x',
    'text.length',
    'a.b',
  ])('fails a record without {{%s}}', (name) => {
    const record = { pos: { lat: 1 }, text: 'x', a: null, undef: undefined };
    expect(write(`{{${name}}}`, record)).toBe(
      `ERR_SLUICE_TEMPLATE_FAILED: the variable "${name}" is missing in the record`,
    );
    expect(write(`[{{${name}}}]`, record, { strict: false })).toBe('[]');
  });

  it('CJ-13 never prints or reaches what an object inherits', () => {
    const record = JSON.parse('{"constructor":{"prototype":{"x":1}},"name":"n"}') as unknown;
    expect(write('{{constructor.name}}', record)).toContain('is missing');
    expect(write('{{constructor.prototype.x}}{{name}}', record)).toBe('1n');
    expect(write('{{#constructor}}{{name}}{{/constructor}}', record)).toBe('n');
  });

  it('fails on what has no text', () => {
    const cycle: Record<string, unknown> = {};
    cycle['self'] = cycle;
    for (const value of [NaN, Infinity, () => 1, Symbol('x'), cycle]) {
      expect(write('{{v}}', { v: value })).toContain('ERR_SLUICE_TEMPLATE_FAILED');
    }
    let deep: object = {};
    for (let level = 0; level < 10_000; level += 1) deep = { a: deep };
    expect(write('{{v}}', { v: deep })).toContain('ERR_SLUICE_TEMPLATE_FAILED');
  });

  it('makes JSON, in which no value can leave its quotes', () => {
    const template = '{"id":{{id}},"name":"{{name}}","tags":{{tags}},"note":{{note}}}';
    const record = { id: 7, name: '","id":0,"x":"\\\n\u0000é', tags: ['a"'], note: null };
    expect(json(template, record)).toEqual({ ...record });
    expect(json('{"id":{{id}}}', { id: '12345678901234567890' })).toEqual({ id: '12345678901234567890' });
  });

  it.each([
    ['{"a":{{a}}}', { a: 'text' }],
    ['{"a":{{a}},}', { a: 1 }],
    ['{"a":1,"a":{{a}}}', { a: 1 }],
    ['{{a}}', { a: '' }],
  ])('fails where %s makes no JSON of %j', (template, record) => {
    expect(json(template, record)).toContain('ERR_SLUICE_TEMPLATE_NOT_JSON');
  });

  it.each([
    '{{a',
    '{{#a}}',
    '{{/a}}',
    '{{#a}}{{/b}}',
    '{{{a}}',
    '{{=a}}',
    '{{> partial}}',
    '{{#a}}{{> b}}{{/a}}',
  ])('is refused at the deploy: %s', (template) => {
    const run = () => compileTemplate(template, { output: 'string', strict: true });
    expect(run).toThrow(ConfigError);
    expect(run).toThrow(expect.objectContaining({ code: 'ERR_SLUICE_TEMPLATE_SYNTAX' }) as Error);
  });
});
