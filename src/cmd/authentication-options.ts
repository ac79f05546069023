// kube-apiserver's flags about authentication, by their names.
import { readFileSync } from 'node:fs';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { privateKeyFromPem } from '../crypto/keys.ts';
import { bundleFault } from '../crypto/subject.ts';
import type { AuthenticationFlags } from './compose/authentication-flags.ts';
import type { BroughtCredentials } from './compose/brought-credentials.ts';
import type { AuthorizationFlags } from './compose/configured-authorization.ts';
import { ofFlag } from './compose/of-flag.ts';
import { duration, durationOption } from './duration-option.ts';
import { gathered, listed } from './list-option.ts';
import { type ServingFlags, servingCredentialsOf, withKubeletFiles } from './serving-options.ts';
import { switchOption } from './switch-option.ts';

const pair = (text: string, before: readonly string[] = []): string[] => {
  if (text.indexOf('=') < 1) throw new InvalidArgumentError('not key=value');
  return [...before, text];
};

/** Checked, and left as it is written: files say such times so, too. */
function durationText(text: string): string {
  duration(text);
  return text;
}

const withProviders = (command: Command): Command =>
  command
    .option('--authentication-config <file>', 'AuthenticationConfiguration; read again when it changes')
    .option('--oidc-issuer-url <url>', 'an OpenID provider, by flags in the place of a file')
    .option('--oidc-client-id <id>', 'whom its tokens must be for')
    .option('--oidc-ca-file <file>', 'vouches for the provider; default: whom the machine trusts')
    .option('--oidc-username-claim <claim>', 'names the user; default sub')
    .option('--oidc-username-prefix <prefix>', 'before names; - for none')
    .option('--oidc-groups-claim <claim>', "names the user's groups")
    .option('--oidc-groups-prefix <prefix>', 'before names of groups')
    .option('--oidc-signing-algs <names>', 'with which tokens may be signed; default RS256', listed)
    .option('--oidc-required-claim <key=value>', 'a claim that must be so; may be given again', pair)
    .option('--authentication-token-webhook-config-file <file>', 'kubeconfig of a service that knows tokens')
    .addOption(
      new Option('--authentication-token-webhook-version <version>', 'of the TokenReview that it is sent')
        .choices(['v1', 'v1beta1'])
        .default('v1beta1'),
    )
    .addOption(
      durationOption('authentication-token-webhook-cache-ttl', 'how long its verdicts hold', 120_000),
    )
    .addOption(
      switchOption('enable-bootstrap-token-auth', 'tokens of Secrets in kube-system are believed', true),
    )
    .option('--token-auth-file <file>', 'tokens by the line: token,user,uid,"group1,group2"')
    .addOption(
      new Option(
        '--anonymous-auth <bool>',
        'requests without credentials; default: only to health and version',
      ).choices(['true', 'false']),
    );

const withServiceAccounts = (command: Command): Command =>
  command
    .option('--api-audiences <names>', 'whom tokens are for that open this server', gathered)
    .option('--service-account-issuer <url>', 'of tokens; given again: also believed', gathered)
    .addOption(
      new Option(
        '--service-account-lookup [bool]',
        'tokens whose account, or Secret, is gone are not believed; always so',
      ).choices(['true']),
    )
    .option('--service-account-jwks-uri <url>', 'where others find the keys of tokens; default: this server')
    .option(
      '--service-account-key-file <file>',
      'public keys that are also believed; may be given again',
      gathered,
    )
    .option(
      '--service-account-max-token-expiration <duration>',
      'longest that a token may be asked for',
      duration,
    )
    .addOption(
      new Option(
        '--service-account-extend-token-expiration <bool>',
        'tokens of pods live for a year, for clients that never read them again',
      )
        .choices(['true', 'false'])
        .default('true'),
    );

const withFrontProxy = (command: Command): Command =>
  command
    .option('--client-ca-file <file>', "vouches for clients besides the server's own authority")
    .option(
      '--requestheader-client-ca-file <file>',
      "vouches for front proxies besides the server's own authority",
    )
    .option('--requestheader-allowed-names <names>', 'common names of front proxies', listed)
    .option('--requestheader-username-headers <names>', 'where they name the user', listed)
    .option('--requestheader-uid-headers <names>', "where they name the user's UID", listed)
    .option('--requestheader-group-headers <names>', 'where they name groups', listed)
    .option('--requestheader-extra-headers-prefix <prefixes>', 'where they tell more', listed);

/** As whom the server speaks, to others and in its tokens. Upstream has them among the rest. */
export const withProof = (command: Command): Command =>
  withKubeletFiles(command)
    .option('--service-account-signing-key-file <file>', "signs tokens in the place of the server's own key")
    .option(
      '--service-account-signing-endpoint <file>',
      'a Unix socket behind which a program keeps the keys of tokens, and signs them (externaljwt v1)',
    )
    .option(
      '--proxy-client-cert-file <file>',
      "as whom the server asks other API servers, in the place of its own front proxy's certificate; read again when it changes",
    )
    .option('--proxy-client-key-file <file>', 'its key')
    .addOption(
      new Option(
        '--enable-aggregator-routing [bool]',
        "requests for other API servers go to their Services' endpoints; always so",
      ).choices(['true']),
    );

export const withAuthentication = (command: Command): Command =>
  withFrontProxy(withServiceAccounts(withProviders(command)));

export const withAuthorization = (command: Command): Command =>
  command
    .option('--authorization-config <file>', 'AuthorizationConfiguration; read again when it changes')
    .option('--authorization-mode <modes>', 'who is asked, in order; default Node,RBAC', listed)
    .option('--authorization-policy-file <file>', 'rules of ABAC by the line; read at the start')
    .option('--authorization-webhook-config-file <file>', 'kubeconfig of a service that decides')
    .addOption(
      new Option('--authorization-webhook-version <version>', 'of the SubjectAccessReview that it is sent')
        .choices(['v1', 'v1beta1'])
        .default('v1beta1'),
    )
    .option(
      '--authorization-webhook-cache-authorized-ttl <duration>',
      'how long it allows; default 5m',
      durationText,
    )
    .option(
      '--authorization-webhook-cache-unauthorized-ttl <duration>',
      'how long it does not; default 30s',
      durationText,
    );

export interface CredentialFlags extends AuthenticationFlags, AuthorizationFlags, ServingFlags {
  readonly serviceAccountSigningKeyFile?: string;
  readonly clientCaFile?: string;
  readonly requestheaderClientCaFile?: string;
}

/** The text of a file that a flag names, if it says what it is for; a server that believed nobody by it would not say so. */
const textOf = (
  flag: string,
  file: string | undefined,
  faultOf: (text: string) => string | undefined,
): string | undefined =>
  file === undefined
    ? undefined
    : ofFlag(flag, file, () => {
        const text = readFileSync(file, 'utf8');
        const fault = faultOf(text);
        if (fault !== undefined) throw new Error(fault);
        return text;
      });

function signingKeyFault(text: string): string | undefined {
  try {
    privateKeyFromPem(text);
    return undefined;
  } catch {
    return 'data does not contain a valid RSA or ECDSA private key';
  }
}

/** Undefined: nothing is brought. Throws for files that are not what their flags say. */
export function broughtOf(flags: CredentialFlags): BroughtCredentials | undefined {
  const { serviceAccountSigningKeyFile, clientCaFile, requestheaderClientCaFile } = flags;
  const brought: BroughtCredentials = {
    ...servingCredentialsOf(flags, Date.now),
    clientCaPem: textOf('client-ca-file', clientCaFile, bundleFault),
    frontProxyCaPem: textOf('requestheader-client-ca-file', requestheaderClientCaFile, bundleFault),
    serviceAccountKeyPem: textOf(
      'service-account-signing-key-file',
      serviceAccountSigningKeyFile,
      signingKeyFault,
    ),
  };
  return Object.values(brought).some((one) => one !== undefined) ? brought : undefined;
}
