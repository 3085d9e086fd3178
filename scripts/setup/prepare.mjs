import { inRoot } from '../paths.mjs';
import { runNode } from '../process.mjs';
import { ensureInstalled } from './install.mjs';
import { ensureNativeModule } from './native-module.mjs';

/** Dependencies, native module, dist/: whatever is missing or stale. Returns false after saying what failed. */
export async function prepare() {
  if (!(await ensureInstalled())) return false;
  if (!(await ensureNativeModule())) return false;
  const { code } = await runNode([inRoot('scripts/build.mjs'), '--quiet'], { show: true });
  return code === 0;
}
