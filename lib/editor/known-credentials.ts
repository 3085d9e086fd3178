import type { EditorNode } from './red';

function filledNames(credentials: Readonly<Record<string, unknown>>): ReadonlySet<string> {
  const names = new Set<string>();
  for (const [key, value] of Object.entries(credentials)) {
    // A password that is set comes from the runtime as `has_<name>: true`, without its value.
    if (value === true && key.startsWith('has_')) names.add(key.slice('has_'.length));
    else if (typeof value === 'string' && value !== '') names.add(key);
  }
  return names;
}

/**
 * Which credentials of nodes are filled in. The editor gets them when a dialog opens and forgets them at each deploy;
 * to mark a node without its secret on the canvas they are asked for once, and kept as names.
 */
export class KnownCredentials {
  private readonly known = new WeakMap<EditorNode, ReadonlySet<string>>();
  private readonly asked = new WeakSet<EditorNode>();

  /** The names that are filled in; undefined while the runtime is being asked, after which the node is checked again. */
  of(node: EditorNode): ReadonlySet<string> | undefined {
    const { credentials } = node;
    if (typeof credentials === 'object' && credentials !== null) {
      this.known.set(node, filledNames(credentials as Record<string, unknown>));
    }
    const names = this.known.get(node);
    if (!names) this.ask(node);
    return names;
  }

  private ask(node: EditorNode): void {
    if (this.asked.has(node)) return;
    this.asked.add(node);
    // Whoever may not read credentials gets no answer, and the node no mark.
    $.getJSON(`credentials/${node.type}/${node.id}`, (answer) => {
      if (this.known.has(node)) return;
      this.known.set(node, filledNames(answer));
      RED.editor.validateNode(node);
      node.dirty = true;
      RED.view.redraw();
    });
  }
}
