const UTF8 = new TextDecoder('utf-8', { fatal: true });

/**
 * The text with which Slack wants an endpoint's `url_verification` request answered; undefined for any other request.
 * Only for a body whose signature was verified.
 */
export function slackChallenge(body: Uint8Array): string | undefined {
  // Handshakes are tiny; events, which come by the thousand, needn't be parsed for this.
  if (body.length > 4096) return undefined;
  let parsed: unknown;
  try {
    parsed = JSON.parse(UTF8.decode(body));
  } catch {
    return undefined;
  }
  if (typeof parsed !== 'object' || parsed === null) return undefined;
  const { type, challenge } = parsed as Record<string, unknown>;
  return type === 'url_verification' && typeof challenge === 'string' ? challenge : undefined;
}
