/**
 * The part of Node-RED's runtime API that this package uses, typed here because no published types cover the
 * messaging hooks and flow events. Shapes as of Node-RED 4.1 and 5.0.
 */
import type { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse, Server } from 'node:http';

export interface Message {
  _msgid?: string;
  payload?: unknown;
  topic?: unknown;
  [property: string]: unknown;
}

/** One entry of the deployed flow JSON. */
export interface FlowConfigNode {
  readonly id: string;
  readonly type: string;
  readonly z?: string;
  readonly [property: string]: unknown;
}

export interface NodeStatus {
  fill?: 'red' | 'green' | 'yellow' | 'blue' | 'grey';
  shape?: 'ring' | 'dot';
  text?: string;
}

export type Send = (msg: Message | (Message | Message[] | null)[]) => void;
export type Done = (error?: Error) => void;

export interface RuntimeNode {
  readonly id: string;
  readonly type: string;
  readonly z: string;
  readonly name?: string;
  readonly g?: string;
  /** Definition id of a node inside a subflow instance. */
  readonly _alias?: string;
  readonly wires: readonly (readonly (string | null)[])[];
  credentials?: Record<string, string | undefined>;
  on(event: 'input', listener: (msg: Message, send: Send, done: Done) => void): void;
  on(event: 'close', listener: (removed: boolean, done: () => void) => void): void;
  send: Send;
  receive(msg: Message): void;
  error(error: unknown, msg?: Message): void;
  warn(text: unknown): void;
  log(text: unknown): void;
  status(status: NodeStatus): void;
}

export interface HookSendEvent {
  msg: Message;
  readonly source: { readonly id: string; readonly node: RuntimeNode; readonly port: number };
  readonly destination: { readonly id: string; node: RuntimeNode | undefined };
  cloneMessage: boolean;
}
export interface HookReceiveEvent {
  readonly msg: Message;
  readonly destination: { readonly id: string; readonly node: RuntimeNode };
}
export interface HookCompleteEvent {
  readonly msg: Message;
  readonly node: { readonly id: string; readonly node: RuntimeNode };
  readonly error?: unknown;
}

export interface Hooks {
  add(id: `preRoute.${string}` | `preDeliver.${string}`, hook: (event: HookSendEvent) => void): void;
  add(id: `onReceive.${string}` | `postReceive.${string}`, hook: (event: HookReceiveEvent) => void): void;
  add(id: `onComplete.${string}`, hook: (event: HookCompleteEvent) => void): void;
  remove(id: string): void;
}

/** Payload of `flows:starting`, `flows:started`, `flows:stopping`, `flows:stopped`. */
export interface FlowsEvent {
  readonly config: { readonly flows: readonly FlowConfigNode[]; readonly rev?: string };
  readonly type?: string;
  readonly diff?: unknown;
}

export interface HttpRequest extends IncomingMessage {
  params?: Record<string, string>;
  body?: unknown;
  /** What `needsPermission` found out of the user. */
  authInfo?: { readonly scope?: unknown };
}
export type HttpHandler = (req: HttpRequest, res: ServerResponse, next: (error?: unknown) => void) => void;
export interface HttpApp {
  (req: IncomingMessage, res: ServerResponse): void;
  readonly parent?: HttpApp;
  path(): string;
  use(...handlers: HttpHandler[]): void;
  get(path: string, ...handlers: HttpHandler[]): void;
  post(path: string, ...handlers: HttpHandler[]): void;
  all(path: string, ...handlers: HttpHandler[]): void;
  delete(path: string, ...handlers: HttpHandler[]): void;
}

export interface RuntimeSettings {
  readonly userDir?: string;
  readonly httpNodeRoot?: string | false;
  readonly httpAdminRoot?: string | false;
  readonly sluice?: Readonly<Record<string, unknown>>;
  readonly contextStorage?: Readonly<Record<string, unknown>>;
  readonly [setting: string]: unknown;
}

export interface NodeRED {
  readonly nodes: {
    createNode(node: object, config: object): void;
    registerType(type: string, constructor: unknown, options?: object): void;
    getNode(id: string): RuntimeNode | null;
    eachNode(callback: (config: FlowConfigNode) => void): void;
  };
  readonly events: EventEmitter;
  readonly hooks: Hooks;
  readonly util: {
    generateId(): string;
    cloneMessage<T>(msg: T): T;
    /** Throws the parser's error, which isn't an Error: an object with `code` and `message`. */
    prepareJSONataExpression(expression: string, node: RuntimeNode): object;
    evaluateJSONataExpression(
      prepared: object,
      msg: Message,
      callback: (error: unknown, result?: unknown) => void,
    ): void;
    getMessageProperty(msg: Message, path: string): unknown;
  };
  readonly log: { info(text: string): void; warn(text: string): void; error(text: string): void };
  readonly settings: RuntimeSettings;
  readonly httpNode: HttpApp;
  readonly httpAdmin: HttpApp;
  readonly server: Server;
  readonly auth: { needsPermission(permission: string): HttpHandler };
  _(key: string, values?: Record<string, unknown>): string;
  readonly version: string;
}
