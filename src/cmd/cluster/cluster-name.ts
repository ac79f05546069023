// Cluster names become folder, namespace and interface names, so they are short DNS labels.

const pattern = /^[a-z0-9]([-a-z0-9]{0,18}[a-z0-9])?$/;

/** Returns the name; throws an Error that says what a name may be. */
export function parseClusterName(name: string): string {
  if (!pattern.test(name)) {
    throw new Error(
      `cluster name ${JSON.stringify(name)}: use at most 20 lower-case letters, digits and '-', starting and ending with a letter or digit`,
    );
  }
  return name;
}

export const noSuchCluster = (name: string): string =>
  `there is no cluster ${JSON.stringify(name)} in this home; porthole status shows those there are`;

export const stoppedCluster = (name: string): string =>
  `cluster ${JSON.stringify(name)} is stopped; porthole up --name ${name}, with the flags of its first time, goes on with it`;

/** Of one whose `down` was killed. */
export const endingCluster = ({ name, ending }: { name: string; ending?: true | 'keep' }): string =>
  ending === 'keep'
    ? `cluster ${JSON.stringify(name)} is being stopped: porthole down --keep --name ${name} ends that`
    : `cluster ${JSON.stringify(name)} is being taken down: porthole down --name ${name} ends that`;
