"""AWS Bedrock Converse, both ways: the rules of botocore's service model and of the refusals.

Attachments go out as raw bytes, which boto3 encodes. The law: ``write(read(write(m))) ==
write(m)``.
"""

from promptdsl.providers.bedrock.read import read, read_response
from promptdsl.providers.bedrock.write import Payload, write

__all__ = ["Payload", "read", "read_response", "write"]
