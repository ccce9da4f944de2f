// SPDX-License-Identifier: Apache-2.0
// run_onnxruntime.js MODEL IN.safetensors OUT.safetensors - what ONNX Runtime
// computes from the inputs in IN, as tensors with the names of the outputs
'use strict';
const fs = require('fs');
const ort = require('onnxruntime-node');

const TYPES = {
	F32: ['float32', Float32Array], F64: ['float64', Float64Array],
	I64: ['int64', BigInt64Array], I32: ['int32', Int32Array],
	U8: ['uint8', Uint8Array], I8: ['int8', Int8Array],
	BOOL: ['bool', Uint8Array],
};

function read(path) {
	const bytes = fs.readFileSync(path);
	const n = Number(bytes.readBigUInt64LE(0));
	const header = JSON.parse(bytes.toString('utf8', 8, 8 + n));
	const tensors = {};

	for (const [name, t] of Object.entries(header)) {
		if (name === '__metadata__')
			continue;
		const [type, array] = TYPES[t.dtype];
		const data = bytes.subarray(8 + n + t.data_offsets[0],
		    8 + n + t.data_offsets[1]);
		const copy = new Uint8Array(data);

		tensors[name] =
		    new ort.Tensor(type, new array(copy.buffer), t.shape);
	}
	return tensors;
}

function write(path, tensors) {
	const header = {}, parts = [];
	let offset = 0;

	for (const [name, t] of Object.entries(tensors)) {
		const data = Buffer.from(
		    t.data.buffer, t.data.byteOffset, t.data.byteLength);

		header[name] = {
			dtype: Object.keys(TYPES).find(
			    key => TYPES[key][0] === t.type),
			shape: t.dims,
			data_offsets: [offset, offset + data.length],
		};
		offset += data.length;
		parts.push(data);
	}
	let text = JSON.stringify(header);
	text += ' '.repeat(-Buffer.byteLength(text) & 7);
	const head = Buffer.alloc(8);
	head.writeBigUInt64LE(BigInt(Buffer.byteLength(text)));
	fs.writeFileSync(path, Buffer.concat([head, Buffer.from(text), ...parts]));
}

async function compute(model, input, output) {
	const s = await ort.InferenceSession.create(
	    model, { logSeverityLevel: 4 });
	const all = read(input), feeds = {};

	for (const name of s.inputNames)
		feeds[name] = all[name];
	write(output, await s.run(feeds));
	await s.release();
}

const args = process.argv.slice(2);

compute(...args).catch(e => {
	console.error(e.message);
	process.exitCode = 1;
});
