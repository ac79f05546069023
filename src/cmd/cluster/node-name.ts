// Names of nodes that people give: labels, since namespaces, folders and host names are made of them; pure.
import type { NodeRecord } from './cluster-state.ts';
import { logNames } from './log-names.ts';

const pattern = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

export const isNodeName = (name: string): boolean => pattern.test(name) && !logNames.includes(name);

/** Returns the name; throws an Error that says what a name may be. */
export function parseNodeName(name: string): string {
  if (isNodeName(name)) return name;
  throw new Error(
    `node name ${JSON.stringify(name)}: use at most 63 lower-case letters, digits and '-', starting and ending with a letter or digit; and not ${logNames.join(', ')}`,
  );
}

/** As `up` counts them, with the lowest number that is free. */
export function nextNodeName(os: NodeRecord['os'], nodes: readonly Pick<NodeRecord, 'name'>[]): string {
  for (let number = 1; ; number++) {
    const name = `${os}-${number}`;
    if (!nodes.some((node) => node.name === name)) return name;
  }
}
