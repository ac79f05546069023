// A namespace box for e2e tests: own network, mounts, pids, ipc, host name and cgroup view; gone with its first process.
import { fileURLToPath } from 'node:url';

/**
 * Command line that runs what follows it in a box. It dies with the caller (pdeathsig), and with it every process,
 * namespace, mount, link and nft table in it.
 */
export function box(): string[] {
  return [
    'setpriv',
    '--pdeathsig',
    'KILL',
    'unshare',
    '--net',
    '--mount',
    '--pid',
    '--ipc',
    '--uts',
    '--fork',
    '--kill-child=KILL',
    '--mount-proc',
    '--propagation',
    'private',
    'sh',
    fileURLToPath(new URL('./enter-box.sh', import.meta.url)),
  ];
}
