// Says of ServiceCIDRs that they are ready, and keeps those that are to be deleted while Services have addresses of theirs.
import { ipaddresses, servicecidrs } from '../api/generated/resources.ts';
import type { Condition } from '../api/generated/types/meta-v1.ts';
import type { ServiceCIDR } from '../api/generated/types/networking-v1.ts';
import { findCondition, withConditionLast } from '../apimachinery/conditions.ts';
import { rfc3339 } from '../base/clock.ts';
import { isDeleted, isNeeded } from '../component-helpers/service-cidrs.ts';
import { may } from '../controller-runtime/access.ts';
import {
  type Controller,
  type ControllerContext,
  defineController,
} from '../controller-runtime/define-controller.ts';
import { finalizersDue, writeFinalizers } from './storage/protect.ts';

const finalizer = 'networking.k8s.io/service-cidr-finalizer';
/** As upstream: by then all servers have heard that it gives no more addresses. */
const graceMs = 10_000;
/** While it waits for its addresses to be given back; no informer holds all of them for that. */
const lookAgainMs = 5_000;

async function writeReady(
  context: ControllerContext,
  cidr: ServiceCIDR,
  said: { readonly status: 'True' | 'False'; readonly reason: string; readonly message: string },
): Promise<void> {
  if (findCondition(cidr.status?.conditions, 'Ready')?.status === said.status) return;
  const next: Condition = { type: 'Ready', ...said, lastTransitionTime: rfc3339(context.clock.now()) };
  const status = { ...cidr.status, conditions: withConditionLast(cidr.status?.conditions, next) };
  await context.write.update(servicecidrs, { ...cidr, status }, { subresource: 'status' });
}

export const serviceCidrController: Controller = defineController({
  name: 'service-cidr-controller',
  queue: 'ipaddresses',
  serviceAccount: 'service-cidrs-controller',
  for: servicecidrs,
  access: [may('update', servicecidrs), may('update', servicecidrs, 'status'), may('list', ipaddresses)],
  async reconcile({ name }, context) {
    const cidr = context.read(servicecidrs).get(name);
    if (cidr === undefined) return undefined;
    if (!isDeleted(cidr)) {
      const due = finalizersDue(cidr, finalizer, true);
      if (due !== undefined) await writeFinalizers(context, servicecidrs, cidr, due);
      else
        await writeReady(context, cidr, {
          status: 'True',
          reason: '',
          message: 'Kubernetes Service CIDR is ready',
        });
      return undefined;
    }
    const { items } = await context.write.list(ipaddresses);
    if (isNeeded(cidr, context.read(servicecidrs).list(), items)) {
      await writeReady(context, cidr, {
        status: 'False',
        reason: 'Terminating',
        message:
          'There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new ServiceCIDR',
      });
      return { requeueAfterMs: lookAgainMs };
    }
    const leftMs = Date.parse(cidr.metadata.deletionTimestamp ?? '') + graceMs - context.clock.now();
    if (leftMs > 0) return { requeueAfterMs: leftMs };
    const due = finalizersDue(cidr, finalizer, false);
    if (due !== undefined) await writeFinalizers(context, servicecidrs, cidr, due);
    return undefined;
  },
});
