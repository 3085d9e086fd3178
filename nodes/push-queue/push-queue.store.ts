import { join } from 'node:path';
import { ConfigError } from '#lib/errors/errors';
import type { SluiceSettings } from '#lib/node-red/settings';
import type { QueueStore } from '#lib/queue/contract';
import { MemoryStore } from '#lib/queue/memory-store';
import { OpenStores, type StoreClaim } from '#lib/queue/open-stores';
import { openSqliteStore } from '#lib/queue/sqlite-store';
import type { PushQueueConfig } from './push-queue.config';

const MB = 1024 * 1024;
/** The volatile buffer of a queue that isn't enabled (O63). */
const VOLATILE_BYTES = 16 * MB;

/** Files belong to the process, whichever runtime or node has them. */
const openStores = new OpenStores();

export function quotaBytesOf({ enabled, maxQuotaMb }: PushQueueConfig): number {
  return enabled ? Math.floor(maxQuotaMb * MB) : VOLATILE_BYTES;
}

/** `push_queue.db` for the queue `push`, else `<queue>_queue.db`. */
export function fileOf({ queue }: PushQueueConfig, dataDir: string): string {
  return join(dataDir, `${queue}_queue.db`);
}

/**
 * Claims the queue's name for a node and opens its store, again and again until it can be had; `onFault` hears why it
 * can't. Throws ConfigError for a name in use or an unknown store.
 */
export function claimStore(
  config: PushQueueConfig,
  { dataDir, minFreeDiskMb }: Pick<SluiceSettings, 'dataDir' | 'minFreeDiskMb'>,
  onFault: (fault: Error) => void,
): StoreClaim {
  if (config.store !== '') {
    throw new ConfigError(
      'ERR_SLUICE_QUEUE_STORE_UNSUPPORTED',
      'Only the SQLite store is available; leave "store" empty',
    );
  }
  const file = fileOf(config, dataDir);
  const name = config.enabled ? file : `${file} (memory)`;
  const open = async (): Promise<QueueStore> =>
    config.enabled ? openSqliteStore({ file, minFreeBytes: minFreeDiskMb * MB }) : new MemoryStore();
  return openStores.claim(name, open, onFault);
}
