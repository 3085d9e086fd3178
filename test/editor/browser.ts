import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium, type BrowserContext, type Page } from 'playwright-core';

const CANDIDATES = [
  process.env['CHROMIUM_PATH'],
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];

/** Path of a Chromium, or undefined where there is none. In CI its absence is an error: throws. */
export function findChromium(): string | undefined {
  const found = CANDIDATES.find((path) => path !== undefined && existsSync(path));
  if (found) return found;
  const advice = 'no Chromium found: install one, or set CHROMIUM_PATH';
  if (process.env['CI'] === 'true') throw new Error(advice);
  console.warn(`\n*** EDITOR TESTS NOT RUN: ${advice} ***\n`);
  return undefined;
}

export interface Browser {
  readonly page: Page;
  /** What the page complained about since the last call: uncaught errors and console errors. */
  complaints(): string[];
  close(): Promise<void>;
}

/** A Chromium with a fresh profile that talks to nobody but the given editor. */
export async function openBrowser(executablePath: string): Promise<Browser> {
  const profile = await mkdtemp(join(tmpdir(), 'sluice-chromium-'));
  const context: BrowserContext = await chromium.launchPersistentContext(profile, {
    executablePath,
    headless: true,
    viewport: { width: 1400, height: 1000 },
    locale: 'en-US',
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });

  const page = context.pages()[0] ?? (await context.newPage());
  let complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(`page error: ${error.message}`));
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(`console: ${message.text()}`);
  });
  return {
    page,
    complaints() {
      const heard = complaints;
      complaints = [];
      return heard;
    },
    async close() {
      await context.close();
      await rm(profile, { recursive: true, force: true });
    },
  };
}
