import { join } from 'node:path';
import { choice, flag, number, text, type Fields } from '../config/fields';
import { readConfig } from '../config/read-config';
import type { RuntimeSettings } from './types';

/** `sluice: { … }` of settings.js; environment variables (`SLUICE_DATA_DIR`, …) override it. */
export interface SluiceSettings {
  /** Folder of queues, inbox and dead letters. */
  readonly dataDir: string;
  readonly subflowReach: 'conservative' | 'exact';
  /** Serve the admin documents at the source documents' own paths too (`/api/status`, …). */
  readonly documentPaths: boolean;
  /** Serve metrics and health beside the webhooks, without a login, instead of on the admin side. */
  readonly publicMetrics: boolean;
  /** Bearer token that opens what only reads, and never expires. Empty: none. */
  readonly readToken: string;
  /** Bytes of request bodies that are being read and not yet authenticated, for all sources together. */
  readonly bodyBudgetMb: number;
  readonly inboxQuotaMb: number;
  /** Free space of its disk below which queues and the inbox refuse, so that the rest of the system has some left. 0: none. */
  readonly minFreeDiskMb: number;
  readonly metricAliases: boolean;
}

const fields: Fields<SluiceSettings> = {
  dataDir: text(),
  subflowReach: choice('conservative', ['conservative', 'exact']),
  documentPaths: flag(false),
  publicMetrics: flag(false),
  readToken: text(),
  bodyBudgetMb: number(64, { min: 1 }),
  inboxQuotaMb: number(500, { min: 1 }),
  minFreeDiskMb: number(200),
  metricAliases: flag(true),
};

const environmentName = (name: string) =>
  `SLUICE_${name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;

/** Throws ConfigError for a setting that cannot work. */
export function readSettings(
  settings: RuntimeSettings,
  environment: NodeJS.ProcessEnv = process.env,
): SluiceSettings {
  const given: Record<string, unknown> = { ...settings.sluice };
  for (const name of Object.keys(fields)) {
    const value = environment[environmentName(name)];
    if (value !== undefined) given[name] = value;
  }
  const config = readConfig(fields, given);
  return { ...config, dataDir: config.dataDir || join(settings.userDir ?? process.cwd(), 'sluice') };
}
