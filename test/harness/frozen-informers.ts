// Informers whose objects are frozen: a component that writes into what it shares with others fails its test.
import type { InformerFactory } from '../../src/client/cache/informer.ts';
import { createInformerFactory } from '../../src/client/cache/informer-factory.ts';
import { deepFreeze } from '../../src/client/cache/shared-informer.ts';

export const frozenInformers = (deps: Parameters<typeof createInformerFactory>[0]): InformerFactory =>
  createInformerFactory(deps, { freeze: deepFreeze });
