import { ulid } from 'ulid';
import type { AlertPlace } from '#lib/alert/alert-place';
import { readConfig } from '#lib/config/read-config';
import type { Delivered } from '#lib/delivery/stamp';
import { faultText } from '#lib/node-red/fault-text';
import { onInput } from '#lib/node-red/input';
import { runtimeOf, type SluiceRuntime } from '#lib/node-red/runtime';
import { stageError } from '#lib/node-red/stage-error';
import { statusLine } from '#lib/node-red/status';
import { tlsOptions } from '#lib/node-red/tls-options';
import type { Message, NodeRED, RuntimeNode, Send } from '#lib/node-red/types';
import { RecordError } from '#lib/record/record-error';
import { RestClient, type Answer } from './rest-sink.client';
import { credentials, fields, problemsOf, successTest, type RestSinkConfig } from './rest-sink.config';
import { proxyOptions } from './rest-sink.connection';
import { encoderFor, requestTemplate, type EncodedPayload } from './rest-sink.request';
import { RestSink } from './rest-sink.sink';
import { lookOf } from './rest-sink.status';

const SHOW_INTERVAL_MS = 5000;

const nameOf = ({ name }: RestSinkConfig) => name || 'rest';

function buildSink(
  RED: NodeRED,
  node: RuntimeNode,
  config: RestSinkConfig,
  runtime: SluiceRuntime,
  alerts: AlertPlace,
): RestSink {
  const getNode = (id: string) => RED.nodes.getNode(id);
  const request = requestTemplate(config, node.credentials ?? {});
  const client = new RestClient({
    request,
    timeoutMs: config.timeoutMs,
    maxResponseBytes: config.maxResponseKb * 1024,
    connections: config.concurrency,
    tls: tlsOptions(config.tls, getNode),
    ...proxyOptions(config.proxy, getNode),
  });
  const options = {
    id: node.id,
    name: nameOf(config),
    z: node.z,
    policy: config.onFull,
    maxBacklog: config.maxBacklog,
    concurrency: config.concurrency,
    batch: config.batch,
    answers: {
      method: request.method,
      origin: request.origin,
      pathname: new URL(config.url).pathname,
      isSuccess: successTest(config.successCodes),
      clientErrors: config.clientErrors,
    },
  };
  return new RestSink(options, client, runtime.metrics, alerts);
}

/** What goes on after the destination confirmed the record. */
function confirmed(
  msg: Message,
  sink: string,
  attempts: number,
  { statusCode, headers, body }: Answer,
): Message {
  const delivered: Delivered = { sink, at: Date.now(), attempts };
  msg['sluice'] = { ...(msg['sluice'] as object | undefined), delivered };
  msg['statusCode'] = statusCode;
  msg['response'] = { statusCode, headers, body };
  return msg;
}

function start(RED: NodeRED, node: RuntimeNode, config: RestSinkConfig): void {
  const runtime = runtimeOf(RED);
  const alerts = runtime.alerts.place({ id: node.id, name: nameOf(config), type: node.type, z: node.z });
  const sink = buildSink(RED, node, config, runtime, alerts);
  const unregister = runtime.registry.addSink(sink);
  const line = statusLine(node);
  const translate = (key: string) => RED._(key);
  const encode = encoderFor(config);
  let failure: string | undefined;

  const show = () => {
    const { mood, key, label } = lookOf(sink.status(), failure);
    line.show(mood, label ?? `rest-sink.status.${key}`);
  };

  function encodeOrFail(msg: Message): EncodedPayload {
    try {
      return encode(msg);
    } catch (error) {
      throw error instanceof RecordError ? stageError(error, 'DataTemplate', msg) : error;
    }
  }

  async function deliver(msg: Message, send: Send): Promise<void> {
    const trace = runtime.lineage.traceOf(msg);
    trace?.takeHold(node.id);
    const encoded = encodeOrFail(msg);
    const deliveryId = trace?.deliveryId(node.id, encoded.bytes) ?? ulid();
    const source = trace?.stamp.source ?? 'untracked';
    const resumeTimeout = trace?.pauseTimeout();
    try {
      const delivery = sink.deliver({ ...encoded, deliveryId, source });
      show();
      const answer = await delivery;
      failure = undefined;
      send(confirmed(msg, sink.name, trace?.stamp.attempt ?? 1, answer));
    } catch (error) {
      failure = faultText(translate, error);
      throw error;
    } finally {
      resumeTimeout?.();
      show();
    }
  }

  const showing = setInterval(show, SHOW_INTERVAL_MS).unref();

  onInput(node, deliver);
  node.on('close', (_removed, done) => {
    unregister();
    clearInterval(showing);
    alerts.close();
    line.close();
    void sink.close().finally(done);
  });
  show();
}

export = function register(RED: NodeRED): void {
  function RestSinkNode(this: RuntimeNode, saved: object): void {
    RED.nodes.createNode(this, saved);
    try {
      start(RED, this, readConfig(fields, saved, problemsOf));
    } catch (error) {
      // Not registered as a sink: sources that reach it refuse, and what arrives all the same is kept by its origin.
      this.error(error);
      this.status({ fill: 'red', shape: 'ring', text: faultText((key) => RED._(key), error) });
      onInput(this, () => Promise.reject(error instanceof Error ? error : new Error(String(error))));
    }
  }
  RED.nodes.registerType('rest-sink', RestSinkNode, { credentials });
};
