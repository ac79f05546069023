// All that is done for servers elsewhere: loaded with the first APIService that names one.
import type { RemoteVersion } from '../../apimachinery/discovery/remote-version.ts';
import { RemoteDocuments } from '../../apiserver/aggregator/remote-documents.ts';
import type { RemoteOpenApiV2 } from '../../apiserver/aggregator/remote-openapi.ts';
import { RemoteProxy, type RemoteProxyConfig } from '../../apiserver/aggregator/remote-proxy.ts';
import { remoteQuestions } from '../../apiserver/aggregator/remote-questions.ts';
import type { RemoteService } from '../../apiserver/aggregator/remote-service.ts';
import type { ApiResponse } from '../../apiserver/http.ts';
import type { RequestContext } from '../../apiserver/request-context.ts';
import { SpokenProtocols } from '../../wire/spoken-protocols.ts';
import { AvailabilityController, type AvailabilityDeps } from './availability-controller.ts';

export interface RemoteServersDeps extends Omit<AvailabilityDeps, 'ask'>, RemoteProxyConfig {
  /** What is served elsewhere, or how it is described. */
  readonly documentsChanged: () => void;
}

export class RemoteServers {
  readonly #spoken = new SpokenProtocols();
  readonly #proxy: RemoteProxy;
  readonly #questions: ReturnType<typeof remoteQuestions>;
  readonly #documents: RemoteDocuments;
  readonly #availability: AvailabilityController;
  /** What is known of each, as it was last told. */
  #told = new Map<string, string>();

  constructor(deps: RemoteServersDeps) {
    this.#proxy = new RemoteProxy(deps, this.#spoken);
    this.#questions = remoteQuestions(deps, this.#spoken);
    const { ask } = this.#questions;
    this.#documents = new RemoteDocuments({ ...deps, ask, changed: deps.documentsChanged });
    this.#availability = new AvailabilityController({ ...deps, ask });
  }

  set(remotes: readonly RemoteService[]): void {
    const before = this.#told;
    this.#told = new Map(remotes.map((remote) => [remote.name, JSON.stringify(remote)]));
    const changed = new Set<string>();
    for (const [name, text] of this.#told) if (before.get(name) !== text) changed.add(name);
    this.#documents.set(remotes, changed);
    this.#availability.set(remotes, changed);
  }

  forward(context: RequestContext, remote: RemoteService): Promise<ApiResponse> {
    return this.#proxy.forward(context, remote);
  }

  versions(): RemoteVersion[] {
    return this.#documents.versions();
  }

  openApiV3(): ReadonlyMap<string, string> {
    return this.#documents.openApiV3();
  }

  convertedV3(path: string): ReturnType<RemoteDocuments['convertedV3']> {
    return this.#documents.convertedV3(path);
  }

  openApiV2(): readonly RemoteOpenApiV2[] {
    return this.#documents.openApiV2();
  }

  close(): void {
    this.#availability.close();
    this.#documents.close();
    this.#questions.close();
    this.#proxy.close();
    this.#spoken.close();
  }
}
