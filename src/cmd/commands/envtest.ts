// porthole envtest: Porthole in the place of the programs that controller-runtime's envtest starts.
import { Command } from 'commander';
import type { ApiserverFlags } from '../envtest/envtest-apiserver.ts';
import type { EtcdFlags } from '../envtest/etcd-placeholder.ts';
import { port } from '../port-option.ts';
import { progressOnStderr } from '../progress.ts';
import { portholeCache } from '../setup/locations.ts';

const list = (text: string, before: readonly string[] = []): string[] => [...before, ...text.split(',')];

/** Tests pass flags of the real programs: those that mean nothing here are named, and nothing else happens. */
function tolerant(name: string, description: string): Command {
  return new Command(name)
    .description(description)
    .allowUnknownOption()
    .allowExcessArguments()
    .hook('preAction', (_, { args }) => {
      if (args.length > 0) console.error(`${name}: without effect in Porthole: ${args.join(' ')}`);
    });
}

const etcd = (): Command =>
  tolerant('etcd', "in etcd's place: is healthy, and lends its folder to the kube-apiserver beside it")
    .option('--data-dir <folder>', 'where the objects are kept', 'default.etcd')
    .option('--listen-client-urls <urls>', 'where it answers', list)
    .option('--advertise-client-urls <urls>', 'not used: there is one')
    .option('--listen-peer-urls <urls>', 'not used: there are no peers')
    .action(async ({ listenClientUrls = [], ...flags }: EtcdFlags) => {
      const { serveEtcdPlaceholder } = await import('../envtest/etcd-placeholder.ts');
      await serveEtcdPlaceholder({ ...flags, listenClientUrls });
    });

const apiserver = (): Command =>
  tolerant('kube-apiserver', "in kube-apiserver's place: the API server alone, without controllers")
    .requiredOption('--etcd-servers <url>', 'the etcd that porthole envtest wrote beside this')
    .option('--secure-port <port>', 'TLS port', port, 6443)
    .option('--bind-address <address>', 'where it listens, besides loopback')
    .option('--advertise-address <address>', 'address at which others reach it')
    .option('--cert-dir <folder>', 'has apiserver.crt and apiserver.key')
    .option('--tls-cert-file <file>', 'serving certificate')
    .option('--tls-private-key-file <file>', 'its key')
    .option('--client-ca-file <file>', 'authority of client certificates')
    .option('--service-account-issuer <url>', 'who tokens say they are from')
    .option('--service-account-signing-key-file <file>', 'private key of tokens')
    .option('--service-account-key-file <file>', 'not used: it is the other half of the signing key')
    .option('--service-cluster-ip-range <cidr>', 'addresses of Services')
    .option('--disable-admission-plugins <names>', 'admission plugins to leave out', list)
    .option('--enable-admission-plugins <names>', 'more admission plugins', list)
    .option('--admission-control-config-file <file>', 'what they are told')
    .option('--allow-privileged [bool]', 'not used: they are allowed')
    .option('--authorization-mode <modes>', 'not used: it is Node,RBAC')
    .action(async (flags: ApiserverFlags) => {
      const { serveEnvtest } = await import('../envtest/envtest-apiserver.ts');
      await serveEnvtest(flags);
    });

export function envtestCommand(): Command {
  return (
    new Command('envtest')
      .description('write a folder for KUBEBUILDER_ASSETS: kube-apiserver, etcd and kubectl for Go tests')
      // The commands below are called by what it writes, not by people.
      .usage('--dir <folder>')
      .option('--dir <folder>', 'the folder')
      .addHelpText('after', '\nExample:\n  KUBEBUILDER_ASSETS=$(porthole envtest --dir assets) go test ./...')
      .action(async ({ dir }: { dir?: string }, command: Command) => {
        if (dir === undefined) command.error('--dir says which folder');
        const { writeAssets } = await import('../envtest/write-assets.ts');
        const progress = progressOnStderr();
        console.log(await writeAssets(String(dir), portholeCache(), (text) => progress.say(text)));
      })
      .addCommand(etcd(), { hidden: true })
      .addCommand(apiserver(), { hidden: true })
  );
}
