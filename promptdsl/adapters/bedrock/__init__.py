"""AWS Bedrock Converse, both ways: the rules of botocore's service model and of the refusals.

Attachments go out as raw bytes, which boto3 encodes. The law: ``write(read(write(m))) ==
write(m)``.
"""

from promptdsl.adapters.bedrock.reading import read, read_response
from promptdsl.adapters.bedrock.writing import Payload, write

__all__ = ["Payload", "read", "read_response", "write"]
