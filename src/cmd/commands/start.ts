// porthole start: what `npm start` runs. A cluster, the sample, the answers, and how to go on.
import { dirname } from 'node:path';
import { Command, Option } from 'commander';
import { linuxProcesses } from '../../os/linux/processes-linux.ts';
import { planNodes } from '../cluster/cluster-plan.ts';
import { buildSamples } from '../cluster/node-images.ts';
import { runSample } from '../cluster/sample-run.ts';
import { up } from '../cluster/up.ts';
import { type MergeFlags, mergeFileOf, sayContext, withMergeOptions } from '../kubeconfig-options.ts';
import { progressOnStderr } from '../progress.ts';
import { ensureKubectl } from '../setup/kubectl.ts';
import { portholeCache, portholeHome } from '../setup/locations.ts';

interface Flags extends MergeFlags {
  readonly name: string;
  readonly runtime: 'auto' | 'containerd' | 'simulated';
}

async function start(flags: Flags): Promise<void> {
  const progress = progressOnStderr();
  const home = portholeHome();
  const cache = portholeCache();
  progress.say('Porthole: a Kubernetes cluster with a Linux and a Windows node on this machine');
  const { kubectl } = await progress.step('kubectl is there', (detail) =>
    ensureKubectl(linuxProcesses, cache, detail),
  );
  const mergeInto = mergeFileOf(flags);
  const cluster = await up(
    {
      ...flags,
      nodes: planNodes({ linux: 1, windows: 1, windowsBuild: 20348 }),
      topology: 'host-gateway',
      mergeInto,
      home,
      cache,
    },
    progress,
  );
  sayContext(progress, cluster.context, mergeInto);
  const { runtime } = cluster.state;
  if (runtime === 'containerd') await buildSamples({ name: flags.name, home, cache }, progress);
  for (const { command, output } of await runSample(
    { processes: linuxProcesses, kubectl, kubeconfig: cluster.kubeconfig, runtime },
    progress,
  )) {
    console.log(`\n$ ${command}\n${output}`);
  }
  console.log(`
${runtime === 'simulated' ? 'The runtime is simulated: pods are state machines, nothing runs. As root, with apt, it is real.\n' : ''}
The cluster stays up. Go on with:
  export KUBECONFIG=${cluster.kubeconfig}
  export PATH=${dirname(kubectl)}:$PATH      # kubectl and helm
  kubectl get pods -A -o wide
${runtime === 'simulated' ? '' : tipsForRealPods}  ${stopHint(flags.name).padEnd(45)}  # take it down; nothing is left`);
}

const stopHint = (name: string): string => (name === 'default' ? 'npm stop' : `npm stop -- --name ${name}`);

const tipsForRealPods = `  kubectl exec -it deploy/windows-web -- cmd
  kubectl port-forward svc/windows-web 8080:80
  ls examples/                                   # more to apply
`;

export function startCommand(): Command {
  return withMergeOptions(new Command('start'))
    .description(
      'a cluster with a Linux and a Windows node, and programs on both that talk to each other (npm start)',
    )
    .option('--name <name>', 'name of the cluster', 'default')
    .addOption(
      new Option('--runtime <name>', 'containerd runs containers; simulated pods only pretend')
        .choices(['auto', 'containerd', 'simulated'])
        .default('auto'),
    )
    .action(start);
}
