// Bootstrap tokens: `id.secret` against Secrets of type bootstrap.kubernetes.io/token in kube-system.
import { secrets } from '../../api/generated/resources.ts';
import type { TokenAuthenticator, TokenVerdict } from '../../apiserver/authentication/token-authenticator.ts';
import type { LiveObjects } from '../../apiserver/live-objects.ts';
import type { Clock } from '../../base/clock.ts';
import { readRfc3339 } from '../../base/rfc3339.ts';
import { equalSecrets } from '../../crypto/digests.ts';

const tokenForm = /^([a-z0-9]{6})\.([a-z0-9]{16})$/;
const extraGroupForm = /^system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]$/;

export function createBootstrapTokenAuthenticator(deps: {
  readonly live: LiveObjects;
  readonly clock: Clock;
}): TokenAuthenticator {
  const refused = (why: string): TokenVerdict => ({ refused: why });
  return {
    authenticateToken(token, audiences) {
      const [, id, secretPart] = tokenForm.exec(token) ?? [];
      if (id === undefined || secretPart === undefined) return undefined;
      const secret = deps.live.get(secrets, `bootstrap-token-${id}`, 'kube-system');
      if (secret === undefined || secret.metadata?.deletionTimestamp !== undefined) {
        return refused('no such bootstrap token');
      }
      if (secret.type !== 'bootstrap.kubernetes.io/token') return refused('the secret is of another type');
      const data = secret.data ?? {};
      const value = (key: string): string =>
        Object.hasOwn(data, key) ? Buffer.from(String(data[key]), 'base64').toString('utf8') : '';
      if (!equalSecrets(value('token-secret'), secretPart) || value('token-id') !== id) {
        return refused('the secret of the bootstrap token is wrong');
      }
      const expiration = value('expiration');
      if (expiration !== '') {
        const at = readRfc3339(expiration);
        if (typeof at !== 'number' || at <= deps.clock.now())
          return refused('the bootstrap token has expired');
      }
      if (value('usage-bootstrap-authentication') !== 'true') {
        return refused('the bootstrap token is not for authentication');
      }
      const extra = value('auth-extra-groups');
      const groups = extra === '' ? [] : extra.split(',');
      if (!groups.every((group) => extraGroupForm.test(group))) {
        return refused('the bootstrap token has a group that is not allowed');
      }
      return {
        user: { name: `system:bootstrap:${id}`, groups: ['system:bootstrappers', ...new Set(groups)] },
        audiences,
      };
    },
  };
}
