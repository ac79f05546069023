// How a Windows program's process is started under Wine: arguments, environment, user, working directory. Pure.
import { noCapabilities, type PodUser, processUser } from './confinement.ts';
import type { OciProcess } from './oci-spec.ts';
import { confine, exitCodePath, pinit, rawTerminal, wine, wineEnvironment } from './wine-paths.ts';

/** The pod's variables go under a prefix: Wine keeps PATH, HOME, TEMP and more for itself. */
function wineEnv(env: readonly string[], user: string): readonly string[] {
  const program = env.filter((entry) => {
    const [name = '', value = ''] = splitOnce(entry, '=');
    if (name === '' || name === 'TERM') return false;
    // containerd gives every container a Linux PATH.
    return !(name.toUpperCase() === 'PATH' && value.startsWith('/'));
  });
  return [...wineEnvironment, `USER=${user}`, ...program.map((entry) => `PORTHOLE_ENV_${entry}`)];
}

function splitOnce(text: string, separator: string): readonly string[] {
  const at = text.indexOf(separator);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + separator.length)];
}

/** Accounts that exist in a Windows container, by lower-case name. */
const accounts: Readonly<Record<string, string>> = {
  containeradministrator: 'ContainerAdministrator',
  containeruser: 'ContainerUser',
  'nt authority\\system': 'SYSTEM',
  'nt authority\\local service': 'LOCAL SERVICE',
  'nt authority\\localservice': 'LOCAL SERVICE',
  'nt authority\\network service': 'NETWORK SERVICE',
  'nt authority\\networkservice': 'NETWORK SERVICE',
  'user manager\\containeradministrator': 'ContainerAdministrator',
  'user manager\\containeruser': 'ContainerUser',
};

/** The account for a user name, or Windows' error for one that does not exist. */
export function accountOf(userName: string | undefined): string {
  if (userName === undefined || userName === '') return 'ContainerAdministrator';
  const name = userName.toLowerCase();
  const account = Object.hasOwn(accounts, name) ? accounts[name] : undefined;
  if (account !== undefined) return account;
  throw new Error(
    `hcs::System::CreateProcess: The user name or password is incorrect. (0x52e): user ${JSON.stringify(userName)}`,
  );
}

export interface WineProcessOptions {
  readonly user: string;
  readonly owner: PodUser;
  /** The working directory as a path of the Linux container. */
  readonly cwd: string;
  /** The container's own process reaps children and reports its full exit code; one of `exec` does neither. */
  readonly first: boolean;
}

export function wineProcess<Process extends OciProcess>(
  process: Process,
  options: WineProcessOptions,
): Process {
  const args = process.args ?? [];
  if (args.length === 0) throw new Error('the container has no command');
  const start = [wine, pinit, ...args];
  const program = [confine, ...(options.first ? ['/usr/bin/catatonit', '--', ...start] : start)];
  // The folder is entered with the program's own rights: runc would make it, and follow links of the pod, with more.
  const env = [...wineEnv(process.env ?? [], options.user), `PORTHOLE_CWD=${options.cwd}`];
  if (options.first) env.push(`PORTHOLE_EXIT=${exitCodePath}`);
  return {
    ...process,
    user: processUser(options.owner),
    args: process.terminal === true ? [rawTerminal, ...program] : program,
    env,
    cwd: '/',
    capabilities: noCapabilities,
    noNewPrivileges: true,
  };
}
