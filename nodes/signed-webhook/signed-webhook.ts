import { ulid } from 'ulid';
import { readConfig } from '#lib/config/read-config';
import { openDoor, startHttpSource, type HttpSourceParts } from '#lib/node-red/http-source';
import type { NodeRED, RuntimeNode } from '#lib/node-red/types';
import { slackChallenge } from '#lib/webhook/slack-challenge';
import { makeVerifier } from '#lib/webhook/verifier';
import { credentials, fields, problemsOf, type SignedWebhookConfig } from './signed-webhook.config';

/** Throws ConfigError for properties or secrets that can't work. */
function describe(config: SignedWebhookConfig, node: RuntimeNode): HttpSourceParts {
  const { secret, previousSecret } = node.credentials ?? {};
  const verifier = makeVerifier({ ...config, secret, previousSecret });
  return {
    path: `/api/hooks/${config.hook}`,
    takesId: false,
    name: config.name || config.hook,
    config,
    fields: { hook: config.hook, scheme: config.scheme },
    door: {
      identify(req, body) {
        const nowSecs = Date.now() / 1000;
        const { id, idFrom, timestampSecs } = verifier.verify({ rawHeaders: req.rawHeaders, body, nowSecs });
        // Without an id and a time, two equal bodies have equal signatures: they may well be two records.
        return idFrom === 'signature' && timestampSecs === undefined ? ulid() : id;
      },
      handshake(body) {
        const challenge = config.scheme === 'slack' ? slackChallenge(body) : undefined;
        return challenge === undefined ? undefined : { status: 200, body: { challenge } };
      },
    },
  };
}

export = function register(RED: NodeRED): void {
  openDoor(RED);
  function SignedWebhookNode(this: RuntimeNode, saved: { readonly hook?: string }): void {
    RED.nodes.createNode(this, saved);
    const named = { path: `/api/hooks/${saved.hook ?? ''}`, takesId: false };
    startHttpSource(RED, this, named, () => describe(readConfig(fields, saved, problemsOf), this));
  }
  RED.nodes.registerType('signed-webhook', SignedWebhookNode, { credentials });
};
