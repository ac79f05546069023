// Puts a process of the test where a container's own processes are: it gets the share of the machine that the pod has.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Both kinds of hierarchies: `4:memory:/pods/x` of the first, `0::/pods/x` of the second. */
export function joinCgroupsOf(container: number, joining: number): void {
  const groups = readFileSync(`/proc/${container}/cgroup`, 'utf8')
    .trim()
    .split('\n')
    .map((line) => line.split(':', 3))
    .filter(([, , path]) => path !== '/')
    .map(([, controllers = '', path = '']) =>
      join('/sys/fs/cgroup', controllers.replace('name=', ''), path, 'cgroup.procs'),
    )
    .filter(existsSync);
  if (groups.length === 0) throw new Error(`process ${container} is in no control group`);
  for (const group of groups) writeFileSync(group, String(joining));
}
