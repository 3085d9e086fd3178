/**
 * Where on its way a record failed. Public in three spellings: the name in envelopes, the label in metrics and the
 * number, all as the dead-letter document has them.
 */
export const STAGES = {
  CodecDecode: { number: 0, label: 'codec_decode' },
  SchemaValidation: { number: 1, label: 'schema_validation' },
  SqlEval: { number: 2, label: 'sql_eval' },
  DataTemplate: { number: 3, label: 'data_template' },
  SinkDelivery: { number: 4, label: 'sink_delivery' },
} as const;

export type Stage = keyof typeof STAGES;
