import type { NodeStatus, RuntimeNode } from './types';

/** How a node is doing: green dot ok, yellow ring waiting, red ring refused or down, blue dot working. */
export type Mood = 'ok' | 'waiting' | 'down' | 'working' | 'idle';

const LOOKS: Record<Mood, Pick<NodeStatus, 'fill' | 'shape'>> = {
  ok: { fill: 'green', shape: 'dot' },
  waiting: { fill: 'yellow', shape: 'ring' },
  down: { fill: 'red', shape: 'ring' },
  working: { fill: 'blue', shape: 'dot' },
  idle: { fill: 'grey', shape: 'ring' },
};

const MIN_INTERVAL_MS = 1000;

export interface StatusLine {
  show(mood: Mood, text: string): void;
  close(): void;
}

/**
 * A node's status, sent at most once a second (the last one wins) and only when it changed: status messages travel to
 * every open editor and to status nodes.
 */
export function statusLine(node: RuntimeNode, now: () => number = Date.now): StatusLine {
  let shown = '';
  let sentAt = -Infinity;
  let waiting: NodeJS.Timeout | undefined;
  let next: { mood: Mood; text: string } | undefined;

  const send = () => {
    waiting = undefined;
    if (!next) return;
    const key = `${next.mood} ${next.text}`;
    if (key !== shown) {
      shown = key;
      sentAt = now();
      node.status({ ...LOOKS[next.mood], text: next.text });
    }
    next = undefined;
  };

  return {
    show(mood, text) {
      next = { mood, text };
      if (waiting) return;
      const delay = sentAt + MIN_INTERVAL_MS - now();
      if (delay <= 0) return send();
      waiting = setTimeout(send, delay);
      waiting.unref();
    },
    close() {
      clearTimeout(waiting);
    },
  };
}
