// The editor half of a node as Node-RED's tools want it: they read category, defaults, inputs, outputs, icon and colour
// as literals out of one registerType call in the html. The sources describe a node by code, so the build runs that
// code once against a stand-in for the editor and writes the call from what it registered.
import { createContext, Script } from 'node:vm';

/** Takes the place of `RED.nodes.registerType` in the bundle. */
export const CAPTURE = '__sluiceRegister';

/** @typedef {Record<string, unknown>} Definition */

/**
 * Answers to every use that a module makes of a global of the browser while it loads.
 * @type {object}
 */
const anything = new Proxy(() => undefined, {
  get: (_target, name) => (name === Symbol.toPrimitive ? () => '' : anything),
  apply: () => anything,
});

/**
 * @param {string} script a bundle that calls CAPTURE
 * @param {string} type
 * @returns {Definition} what it registered
 */
export function evaluateDefinition(script, type) {
  /** @type {Map<string, Definition>} */
  const registered = new Map();
  const context = createContext({
    [CAPTURE]: (/** @type {string} */ name, /** @type {Definition} */ given) => registered.set(name, given),
    RED: anything,
    $: anything,
    window: anything,
    document: anything,
    console,
  });
  new Script(script, { filename: `${type}.editor.js` }).runInContext(context, { timeout: 5_000 });
  const definition = registered.get(type);
  if (!definition) {
    throw new Error(
      `${type}.editor.ts has to register "${type}"; it registered: ${[...registered.keys()].join(', ') || 'nothing'}`,
    );
  }
  return definition;
}

const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;

/**
 * @param {string} path
 * @param {string} key
 */
const member = (path, key) => (IDENTIFIER.test(key) ? `${path}.${key}` : `${path}[${JSON.stringify(key)}]`);

/** @param {string} key */
const property = (key) => (IDENTIFIER.test(key) ? key : JSON.stringify(key));

/**
 * One property of the call: a literal where the value is one, otherwise a reference into the captured definition.
 * @param {string} key
 * @param {unknown} value
 */
function printProperty(key, value) {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') {
    return `    ${property(key)}: ${JSON.stringify(value)},`;
  }
  if ((key === 'defaults' || key === 'credentials') && typeof value === 'object' && value !== null) {
    const names = Object.keys(value).map(
      (name) => `      ${property(name)}: ${member(`definition.${key}`, name)},`,
    );
    return names.length === 0 ? `    ${key}: {},` : `    ${key}: {\n${names.join('\n')}\n    },`;
  }
  return `    ${property(key)}: ${member('definition', key)},`;
}

/** Properties that Node-RED's palette and its tools read as literals; a config node is not drawn and has fewer. */
const DRAWN = ['color', 'icon', 'inputs', 'outputs'];

/**
 * Sentences about what is missing in a definition.
 * @param {Definition} definition
 */
export function definitionProblems(definition) {
  const isConfig = definition['category'] === 'config';
  const needed = ['category', ...(isConfig ? [] : DRAWN)];
  const problems = needed
    .filter((key) => typeof definition[key] !== 'string' && typeof definition[key] !== 'number')
    .map((key) => `its definition has no literal ${key}`);
  if (typeof definition['defaults'] !== 'object') problems.push('its definition has no defaults');
  return problems;
}

/**
 * The script of the node's html file.
 * @param {string} type
 * @param {string} bundle
 * @param {Definition} definition
 */
export function printScript(type, bundle, definition) {
  const properties = Object.entries(definition).map(([key, value]) => printProperty(key, value));
  return `(() => {
  let definition;
  const ${CAPTURE} = (_type, given) => {
    definition = given;
  };
${bundle.trimEnd()}
  RED.nodes.registerType(${JSON.stringify(type)}, {
${properties.join('\n')}
  });
})();
`;
}
