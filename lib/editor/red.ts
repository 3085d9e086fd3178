/** The part of Node-RED's editor API that our editor halves use. Shapes as of Node-RED 4.1 and 5.0. */

/** A node on the canvas: its saved properties beside what the editor keeps with it. */
export interface EditorNode {
  readonly id: string;
  readonly type: string;
  name?: string;
  /** To be drawn again. */
  dirty?: boolean;
  readonly [property: string]: unknown;
}

export interface PropertyDefinition {
  readonly value: unknown;
  /** Type of the config node whose id it holds. */
  readonly type?: string;
  readonly required?: boolean;
  /** A text is the reason why not. Node-RED looks at the number of parameters: it must be two. */
  readonly validate?: (this: EditorNode, value: unknown, options: unknown) => true | string;
}

/** The part of a definition that is about properties and their dialog. */
export interface DialogDefinition {
  readonly defaults: Readonly<Record<string, PropertyDefinition>>;
  readonly credentials: Readonly<
    Record<string, { readonly type: string; readonly validate?: PropertyDefinition['validate'] }>
  >;
  readonly label: (this: EditorNode) => string;
  readonly oneditprepare: (this: EditorNode) => void;
  readonly oneditsave: (this: EditorNode) => void;
  readonly oneditcancel: (this: EditorNode) => void;
  readonly oneditdelete: (this: EditorNode) => void;
}

/** What `RED.nodes.registerType` takes for a node on the canvas. */
export interface NodeDefinition extends DialogDefinition {
  readonly category: string;
  readonly color: string;
  readonly icon: string;
  readonly inputs: number;
  readonly outputs: number;
  readonly paletteLabel: () => string;
  readonly labelStyle: (this: EditorNode) => string;
  readonly outputLabels: (index: number) => string;
}

/** What it takes for a configuration node. */
export interface ConfigNodeDefinition extends DialogDefinition {
  readonly category: 'config';
}

/** What the editor's jQuery wraps; only handed through. */
interface JQueryElement {
  readonly jquery: string;
}

export interface EditorRED {
  /** Text for `namespace:key`; a node's namespace is `<package>/<type>`. Values fill in `__name__`. */
  _(key: string, values?: Readonly<Record<string, string | number>>): string;
  readonly nodes: {
    registerType(type: string, definition: NodeDefinition | ConfigNodeDefinition): void;
    /** All nodes on all tabs and in all subflows, configuration nodes left out. */
    eachNode(callback: (node: EditorNode) => void): void;
    getType(type: string): { readonly category: string } | null | undefined;
  };
  readonly utils: { getNodeLabel(node: EditorNode, fallback: string): string };
  readonly editor: { validateNode(node: EditorNode): void };
  readonly view: { redraw(): void };
  readonly settings: { readonly httpNodeRoot?: string; readonly [setting: string]: unknown };
  /** Says so in a bubble at `element`, by a key of the editor's own texts. */
  readonly clipboard: { copyText(value: string, element: JQueryElement, message: string): boolean };
}

declare global {
  const RED: EditorRED;
  const $: {
    (element: Element): JQueryElement;
    /** With the session's token, as all requests of the editor. */
    getJSON(url: string, done: (answer: Readonly<Record<string, unknown>>) => void): unknown;
  };
}
