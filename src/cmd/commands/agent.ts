// porthole agent: a node agent alone, in the foreground: kubelet, kube-proxy and the pod network.
import { Command, InvalidArgumentError, Option } from 'commander';
import { clusterCidr, clusterDnsAddress, clusterDomain, serviceCidr } from '../compose/cluster-addresses.ts';
import { type AgentOptions, startAgent } from '../compose/compose-agent.ts';
import { portholeCache } from '../setup/locations.ts';
import { untilStopped } from '../until-stopped.ts';

function port(text: string): number {
  const number = Number(text);
  if (!Number.isInteger(number) || number < 0 || number > 65535)
    throw new InvalidArgumentError('a port from 0 to 65535; 0 takes one that is free.');
  return number;
}

export function agentCommand(): Command {
  return new Command('agent')
    .description('run a node agent alone, in the foreground')
    .requiredOption('--kubeconfig <file>', "the node's credentials (user system:node:<name>)")
    .requiredOption('--node-name <name>', 'name of the node')
    .requiredOption('--node-ip <address>', "the node's address")
    .requiredOption(
      '--data-dir <dir>',
      "the node's folder; kube-proxy.kubeconfig, kubelet.crt, kubelet.key and ca.crt are read from it",
    )
    .addOption(
      new Option('--os <name>', 'operating system that the node is; windows is emulated on Linux')
        .choices(['linux', 'windows'])
        .default('linux'),
    )
    .option('--windows-build <build>', 'build of an emulated Windows node', Number, 20348)
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
    .option('--port <port>', "port of the kubelet's HTTPS server", port, 10250)
    .option('--cache-dir <dir>', 'shared cache of this machine', portholeCache())
    .option('-v, --verbose', 'log debug messages', false)
    .action(async (options: AgentOptions) => {
      const agent = await startAgent(options);
      await untilStopped();
      await agent.stop();
      process.exit(0);
    });
}
