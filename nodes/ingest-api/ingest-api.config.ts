import { text, type Conflict, type Credentials, type Fields } from '#lib/config/fields';
import {
  httpSourceFields,
  httpSourceProblems,
  PATH_SEGMENT,
  type HttpSourceConfig,
} from '#lib/config/http-source';

export interface IngestApiConfig extends HttpSourceConfig {
  name: string;
  /** Segment of `/api/ingest/{source}/{id}`. */
  source: string;
}

export const fields: Fields<IngestApiConfig> = {
  name: text(),
  source: text('', { required: true, pattern: PATH_SEGMENT }),
  ...httpSourceFields,
};

export const credentials: Credentials<'token'> = { token: { type: 'password' } };

/** Rules over several properties; the runtime refuses to start on one, the form marks it. */
export function problemsOf(config: IngestApiConfig): Conflict<IngestApiConfig>[] {
  return httpSourceProblems(config);
}
