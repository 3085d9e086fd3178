import { readFile } from 'node:fs/promises';
import { folderProblems, listedNodes, manifestProblems, nodeFolders } from '../build/manifest.mjs';
import { inRoot, root } from '../paths.mjs';
import { LEAST_NODE } from '../setup/node-version.mjs';

/** Each is a risk to those who install the pack; Node-RED's own scorecard warns above 6. */
const MOST_DEPENDENCIES = 7;

/** Sentences about what the palette manager or the flow library would find wrong with package.json. */
export async function manifestCheck() {
  const manifest = JSON.parse(await readFile(inRoot('package.json'), 'utf8'));
  const folders = await nodeFolders(root);
  const problems = [
    ...manifestProblems(folders, await listedNodes(root)),
    ...folders.flatMap((type) => folderProblems(root, type)),
  ];
  /**
   * @param {unknown} holds
   * @param {string} problem
   */
  const demand = (holds, problem) => {
    if (!holds) problems.push(problem);
  };
  const dependencies = Object.keys(manifest.dependencies ?? {});
  demand(manifest.keywords?.includes('node-red'), 'keywords lack "node-red": the flow library lists by it');
  demand(manifest.license === 'Apache-2.0', 'license is not Apache-2.0');
  demand(manifest.repository?.url, 'there is no repository');
  demand(manifest.bugs?.url, 'there is no bugs address');
  demand(manifest['node-red']?.version, 'node-red.version is missing');
  demand(
    LEAST_NODE.startsWith(manifest.engines?.node?.replace('>=', '') ?? '?'),
    `engines.node is not >=${LEAST_NODE}, which scripts/setup/node-version.mjs asks for`,
  );
  demand(
    dependencies.length <= MOST_DEPENDENCIES,
    `${dependencies.length} dependencies, ${MOST_DEPENDENCIES} are the most: make drivers optional peers`,
  );
  return problems;
}
