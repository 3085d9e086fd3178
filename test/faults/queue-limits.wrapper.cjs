// The queue's worker on a disk that a test controls: how much is free, and whether it can be written.
const fs = require('node:fs');
const { BroadcastChannel } = require('node:worker_threads');
const Database = require('better-sqlite3');

const disk = { freeBytes: undefined, failWrites: false };
const channel = new BroadcastChannel('queue-disk');
channel.onmessage = ({ data }) => Object.assign(disk, data);
channel.unref();

const { statfsSync } = fs;
fs.statfsSync = (path) =>
  disk.freeBytes === undefined ? statfsSync(path) : { bavail: disk.freeBytes / 4096, bsize: 4096 };

const { exec } = Database.prototype;
Database.prototype.exec = function (sql) {
  if (disk.failWrites && sql === 'COMMIT') {
    throw Object.assign(new Error('disk I/O error'), { code: 'SQLITE_IOERR_FSYNC' });
  }
  return exec.call(this, sql);
};
require('#lib/queue/sqlite-worker');
