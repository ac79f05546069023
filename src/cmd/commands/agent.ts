// porthole agent: a node agent alone, in the foreground: kubelet, kube-proxy and the pod network.
import { Command, Option } from 'commander';
import { createLogger } from '../../component-base/logger.ts';
import { createMetrics } from '../../component-base/metrics.ts';
import { clusterCidr, clusterDnsAddress, clusterDomain, serviceCidr } from '../compose/cluster-addresses.ts';
import { startAgent } from '../compose/compose-agent.ts';
import type { AgentOptions } from '../compose/node-runtime-driver.ts';
import { evictionHardOption } from '../eviction-hard-option.ts';
import { goOnAfterErrors } from '../go-on-after-errors.ts';
import { settleOnceStarted } from '../keep-compiled.ts';
import { withKubeProxy } from '../kube-proxy-options.ts';
import { withKubelet } from '../kubelet-options.ts';
import { measureProcess } from '../measure-process.ts';
import { port } from '../port-option.ts';
import { settleHeap } from '../settle-engine.ts';
import { portholeCache, portholeHome, registryConfigOf } from '../setup/locations.ts';
import { lookAfterSupervisor } from '../supervisor/look-after-supervisor.ts';
import { untilStopped } from '../until-stopped.ts';
import { windowsBuildOption } from '../windows-options.ts';

export function agentCommand(): Command {
  return withKubeProxy(withKubelet(new Command('agent')))
    .description('run a node agent alone, in the foreground')
    .requiredOption('--kubeconfig <file>', "the node's credentials (user system:node:<name>)")
    .requiredOption('--node-name <name>', 'name of the node')
    .requiredOption('--node-ip <address>', "the node's address")
    .option(
      '--node-gateway <address>',
      "next hop of the node's default route, which is made anew when it is gone; without it that route is left alone",
    )
    .requiredOption(
      '--data-dir <dir>',
      "the node's folder; kube-proxy.kubeconfig, ca.crt and pki/kubelet-server-current.pem are read from it",
    )
    .addOption(
      new Option('--os <name>', 'operating system that the node is; windows is emulated on Linux')
        .choices(['linux', 'windows'])
        .default('linux'),
    )
    .addOption(windowsBuildOption('--windows-build', 'build of an emulated Windows node'))
    .option('--windows-taint', 'taint a Windows node with os=windows:NoSchedule', false)
    .addOption(
      new Option('--runtime <name>', 'containerd or simulated')
        .choices(['containerd', 'simulated'])
        .default('containerd'),
    )
    .option('--topology <name>', 'topology of the pod network', 'host-gateway')
    .option('--cluster-cidr <cidr>', "the pods' addresses", clusterCidr)
    .option('--service-cluster-ip-range <cidr>', "the Services' addresses", serviceCidr)
    .option('--cluster-dns <address>', 'address of the cluster DNS Service', clusterDnsAddress)
    .option('--cluster-domain <domain>', 'DNS domain of the cluster', clusterDomain)
    .option(
      '--registry-config <dir>',
      'folders named after registries, with hosts.toml or certificates as containerd takes them; of several, separated by colons, the first that knows a registry counts',
      registryConfigOf(portholeHome()),
    )
    .addOption(evictionHardOption('as upstream'))
    .option('--port <port>', "port of the kubelet's HTTPS server; 0 takes one that is free", port, 10250)
    .option('--cache-dir <dir>', 'shared cache of this machine', portholeCache())
    .option('-v, --verbose', 'log debug messages', false)
    .action(async (options: AgentOptions) => {
      const log = createLogger({
        level: options.verbose ? 'debug' : 'info',
        name: `agent ${options.nodeName}`,
      });
      const metrics = createMetrics({ processMetrics: true });
      goOnAfterErrors(log, metrics);
      lookAfterSupervisor(log);
      const agent = await startAgent(options, { log, metrics });
      settleOnceStarted(settleHeap);
      measureProcess(metrics);
      await untilStopped();
      await agent.stop();
      process.exit(0);
    });
}
