// What the server writes into objects while it answers requests for others: how much of a quota is used, and when a token was.
import { isStatusError } from '../apimachinery/errors.ts';
import { meta, obj } from '../apimachinery/json-access.ts';
import type { ApiServer } from '../apiserver/server.ts';
import type { Logger } from '../component-base/logger.ts';
import type { QuotaRecorder } from '../plugins/admission/quota/evaluator.ts';
import type { authentication } from './authentication.ts';

export const quotaRecorder =
  (api: () => ApiServer, log: Logger): QuotaRecorder =>
  async ({ metadata: { namespace = '', name = '' } }, status) => {
    try {
      await api()
        .store('', 'v1', 'resourcequotas')
        .update(namespace, name, (quota) => ({ ...quota, status }), { subresource: 'status' });
    } catch (error) {
      // The reservation holds whether or not it could be said.
      if (!isStatusError(error, 'NotFound')) log.warn({ namespace, name, error }, 'quota status not written');
    }
  };

const lastUsedLabel = 'kubernetes.io/legacy-token-last-used';

/** The day on which a Secret's token was used last goes into its labels, as upstream: by that the cleaner finds who is gone. */
export const noteTokenUse =
  (api: () => ApiServer, log: Logger): Parameters<typeof authentication>[0]['legacy']['noteUse'] =>
  async ({ metadata: { namespace = '', name = '', uid } }, day) => {
    try {
      await api()
        .store('', 'v1', 'secrets')
        .update(namespace, name, (secret = {}) => {
          const metadata = meta(secret);
          if (metadata['uid'] !== uid) return secret;
          const labels = { ...obj(metadata['labels']), [lastUsedLabel]: day };
          return { ...secret, metadata: { ...metadata, labels } };
        });
      return true;
    } catch (error) {
      if (!isStatusError(error, 'NotFound'))
        log.warn({ namespace, name, error }, 'use of a token not noted in its Secret');
      return false;
    }
  };
