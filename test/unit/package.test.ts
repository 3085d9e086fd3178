import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { folderProblems, listedNodes, manifestProblems, nodeFolders } from '../../scripts/build/manifest.mjs';
import { packProblems } from '../../scripts/check/pack.mjs';

const root = resolve(import.meta.dirname, '../..');
const listed = await listedNodes(root);
const types = Object.keys(listed);

describe('package.json', () => {
  it('lists every folder in nodes/, and nothing else', async () => {
    expect(manifestProblems(await nodeFolders(root), listed)).toEqual([]);
  });

  it('tells a folder that is not listed, an entry without a folder, and a wrong path', () => {
    const problems = manifestProblems(['a', 'b'], { b: 'dist/b.js', c: 'dist/nodes/c/c.js' });
    expect(problems).toHaveLength(3);
    expect(problems.join('\n')).toMatch(/nodes\/a is not in.*\n.*dist\/b\.js for b.*\n.*lists c/);
  });

  it('tells each file that a node lacks', () => {
    expect(types.flatMap((type) => folderProblems(root, type))).toEqual([]);
    expect(folderProblems(root, 'no-such-node')).toHaveLength(6);
  });

  it('would publish what Node-RED loads and nothing of the workshop', () => {
    const whole = [
      'package.json',
      'README.md',
      'LICENSE',
      'CHANGELOG.md',
      'dist/lib/cli/main.js',
      'dist/nodes/a/a.js',
      'dist/nodes/a/a.html',
      'dist/nodes/a/icons/a.svg',
      'dist/nodes/a/locales/en-US/a.json',
    ];
    expect(packProblems(whole, ['a'], ['dist/nodes/a/a.js'])).toEqual([]);
    expect(packProblems([...whole, 'test/a.test.ts', 'dist/.tsbuildinfo'], ['a'], [])).toHaveLength(2);
    expect(packProblems(whole, ['a'], ['dist/lib/quota/quota.js'])).toEqual([
      'dist/lib/quota/quota.js is missing in the package',
    ]);
  });
});

/** The object literal of the one registerType call in an html file, as Node-RED's scorecard looks for it. */
function registeredLiteral(html: string) {
  const [, script = ''] = /<script type="text\/javascript">([^]*?)<\/script>/.exec(html) ?? [];
  const found: { type: string; properties: Map<string, ts.Expression> }[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && ts.isPropertyAccessExpression(node.expression)) {
      const [type, definition] = node.arguments;
      if (node.expression.name.text === 'registerType' && type && definition) {
        if (ts.isStringLiteral(type) && ts.isObjectLiteralExpression(definition)) {
          const assignments = definition.properties.filter(ts.isPropertyAssignment);
          const properties = new Map(
            assignments.map(({ name, initializer }) => [name.getText(), initializer]),
          );
          found.push({ type: type.text, properties });
        }
      }
    }
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile('editor.js', script, ts.ScriptTarget.Latest, true));
  return found;
}

describe.each(types)('the html of %s', (type) => {
  const file = join(root, 'dist/nodes', type, `${type}.html`);
  const html = existsSync(file) ? readFileSync(file, 'utf8') : '';
  const [registered] = registeredLiteral(html);

  it('has literals where the palette and the scorecard read them', () => {
    expect(registered?.type).toBe(type);
    const { properties } = registered!;
    if (properties.get('category')?.getText() === '"config"') return;
    expect(properties.get('category')?.getText()).toBe('"sluice"');
    expect(properties.get('color')?.getText()).toMatch(/^"#[0-9a-f]{6}"$/i);
    expect(properties.get('icon')?.getText()).toBe(`"${type}.svg"`);
    for (const ports of ['inputs', 'outputs']) {
      expect(ts.isNumericLiteral(properties.get(ports)!), `${ports} is a number`).toBe(true);
    }
  });

  it('lists its defaults by name, credentials apart', () => {
    const namesIn = (key: string) => {
      const value = registered!.properties.get(key)!;
      return ts.isObjectLiteralExpression(value)
        ? value.properties.map(({ name }) => name?.getText())
        : undefined;
    };
    const defaults = namesIn('defaults');
    expect(defaults).toContain('name');
    expect(defaults?.filter((name) => namesIn('credentials')?.includes(name))).toEqual([]);
  });

  it('has a form and a help text', () => {
    expect(html).toContain(`<script type="text/html" data-template-name="${type}">`);
    expect(html).toMatch(new RegExp(`<script type="text/markdown" data-help-name="${type}">\\n\\S`));
  });

  it('finds the shared texts in its locale file', () => {
    const texts = JSON.parse(
      readFileSync(join(root, 'dist/nodes', type, 'locales/en-US', `${type}.json`), 'utf8'),
    ) as Record<string, unknown>;
    expect(Object.keys(texts)).toEqual(expect.arrayContaining([type, 'sluice']));
  });
});
