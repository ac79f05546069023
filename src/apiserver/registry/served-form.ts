// Whether the stored bytes of an object are in the version of a declaration, and as its schema says now: it is served as it is.
import type { ResourceDeclaration, SchemaAge } from '../../apimachinery/declaration.ts';
import { apiVersionOf } from '../../apimachinery/resource-ref.ts';
import { revisionIn } from '../../storage/stamp.ts';

export class ServedForm {
  readonly #head: Buffer;
  readonly #since: SchemaAge | undefined;

  constructor(declaration: ResourceDeclaration) {
    const [kind, apiVersion] = [declaration.kind, apiVersionOf(declaration)].map((one) =>
      JSON.stringify(one),
    );
    this.#since = declaration.schemaSince;
    this.#head = Buffer.from(`{"kind":${kind},"apiVersion":${apiVersion},`);
  }

  isOf(value: Buffer): boolean {
    const head = this.#head;
    if (value.length <= head.length || value.compare(head, 0, head.length, 0, head.length) !== 0)
      return false;
    return this.#since === undefined || revisionIn(value) > this.#since.revision;
  }
}
