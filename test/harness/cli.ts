import { spawn } from 'node:child_process';
import { join, resolve } from 'node:path';

const main = join(resolve(import.meta.dirname, '../..'), 'dist/lib/cli/main.js');

export interface Ended {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs `sluice` as a process of its own; `env` on top of the test's own. */
export function sluice(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ended> {
  return new Promise((done, reject) => {
    const child = spawn(process.execPath, [main, ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...env },
    });
    let stdout = '';
    let stderr = '';
    child.stdout.on('data', (data: Buffer) => (stdout += data.toString()));
    child.stderr.on('data', (data: Buffer) => (stderr += data.toString()));
    child.on('error', reject);
    child.on('close', (status) => done({ status, stdout, stderr }));
  });
}
