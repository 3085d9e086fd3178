import { cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '../..');

interface Manifest {
  readonly 'node-red': { readonly nodes: Readonly<Record<string, string>> };
  readonly dependencies: Readonly<Record<string, string>>;
  readonly [field: string]: unknown;
}

/** Puts a copy of the built package into a user directory, under a name of its own and with some of the node types only. */
export async function installCopy(userDir: string, name: string, types: readonly string[]): Promise<string> {
  const manifest = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as Manifest;
  const nodes = Object.entries(manifest['node-red'].nodes).filter(([type]) => types.includes(type));
  const folder = join(userDir, 'node_modules', name);
  await mkdir(folder, { recursive: true });
  await cp(join(root, 'dist'), join(folder, 'dist'), { recursive: true });
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'), 'dir');
  const own = {
    ...manifest,
    name,
    'node-red': { ...manifest['node-red'], nodes: Object.fromEntries(nodes) },
  };
  await writeFile(join(folder, 'package.json'), JSON.stringify(own));
  return folder;
}
