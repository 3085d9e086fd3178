import { SluiceError } from '../errors/errors';

/**
 * Why one record can't pass a stage, for good. What calls a stage makes a StageError of it: only there the whole record
 * and the bytes it came as are known. The message quotes at most a short value of the record.
 */
export class RecordError extends SluiceError {}
