/**
 * Makes the editor half of a node from its config. Nothing here touches the page until a dialog opens: the build runs
 * it once outside of a browser to print the definition into the html.
 */
import { dialogOf, translateFor, type DialogOptions } from './dialog';

/** One muted colour per kind of node, so that the eye finds where records come from, wait, and leave. */
const COLORS = {
  source: '#9fc3a6',
  queue: '#ddc07f',
  stage: '#c4b3d4',
  sink: '#9db7d5',
  errors: '#d9a6a0',
} as const;

interface NodeOptions<Config extends object> extends DialogOptions<Config> {
  readonly kind: keyof typeof COLORS;
  readonly inputs: 0 | 1;
  readonly outputs: number;
}

/**
 * Registers the type. Texts come from the node's locale file: `<type>.label.palette`, `<type>.output.<n>` and, for rules over several
 * properties, `<type>.problem.<key>`; those shared by all nodes are under `sluice`.
 */
export function defineNode<Config extends { name: string }>(
  type: string,
  options: NodeOptions<Config>,
): void {
  const { kind, inputs, outputs } = options;
  const translate = translateFor(type);
  RED.nodes.registerType(type, {
    category: 'sluice',
    color: COLORS[kind],
    icon: `${type}.svg`,
    inputs,
    outputs,
    ...dialogOf(type, options, 'node-input'),
    paletteLabel: () => translate(`${type}.label.palette`),
    labelStyle() {
      return this.name ? 'node_label_italic' : '';
    },
    outputLabels: (index) => translate(`${type}.output.${index}`),
  });
}

/** Registers a configuration node: one that others refer to, and that isn't on the canvas. */
export function defineConfigNode<Config extends { name: string }>(
  type: string,
  options: DialogOptions<Config>,
): void {
  RED.nodes.registerType(type, { category: 'config', ...dialogOf(type, options, 'node-config-input') });
}
